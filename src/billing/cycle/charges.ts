/** The charges of one holding in one cycle: which days, at which revision's price. Pure. */
import type { LineExplanation } from '../../catalog/records/money/cycle-line.ts'
import { Exact } from '../../rating/line-tax.ts'
import { type BillingCalendar, keyAt, periodOf } from './cycle-key.ts'
import { dateText, dayAfter, dayOf, dayStartMs } from './days.ts'
import { type CycleCatalogue, CycleError, type CycleSettings } from './input.ts'
import { type ChargeLine, type CycleSpan, LINE_DIGITS } from './lines.ts'
import { entityText, type HeldOffer, offerAt, revisionText } from './offer.ts'
import { type DaySpan, dayParts, monthParts, type OfferTerms, type PricePart } from './price.ts'
import { type Holding, pieceAt } from './timeline.ts'

export interface TargetInput {
  readonly aid: number
  readonly calendar: BillingCalendar
  readonly catalogue: CycleCatalogue
  readonly settings: CycleSettings
}

/**
 * `arrears`: paid after the cycle; `due`: should have been paid before it; `ahead`: to be paid
 * before it.
 */
export type Timing = 'arrears' | 'due' | 'ahead'

/** A holding with a part in the cycle, and the offer at the end of that part. */
export interface Held {
  readonly holding: Holding
  readonly offer: HeldOffer
}

export interface DueCharge {
  readonly input: TargetInput
  /** The cycle that is charged. */
  readonly cycle: CycleSpan
  readonly timing: Timing
  readonly held: Held
  /** Further holdings of the same plan or service instance in the cycle. */
  readonly same: readonly Holding[]
}

/**
 * Charges of the cycle alone, without longer periods. Throws `CycleError` for an invalid revision.
 */
export function chargesOf(due: DueCharge): ChargeLine[] {
  const { cycle, timing, held } = due
  const { period, isUpfront, recurrence } = held.offer.terms
  if (period !== null) return timing === 'arrears' ? chargedOnce(due) : []
  if (isUpfront === (timing === 'arrears') || recurrence.months > 1) return []
  return periodLines(due, cycle)
}

/**
 * The charges of a period: the cycle itself, or a longer one that is charged with the cycle. Throws
 * `CycleError` for an invalid revision.
 */
export function periodLines(due: DueCharge, charged: CycleSpan): ChargeLine[] {
  const { input, cycle, timing, held } = due
  const { holding } = held
  // With full fractions the future is unknown: a plan is charged if it is held at the start.
  const isFull = timing === 'ahead' && input.settings.fullFraction
  if (isFull && holding.fromMs >= cycle.startMs) return []
  checkRevision(due)
  const sides = sidesOf(due, charged, isFull)
  return segmentsOf(due, sides).flatMap((segment) => {
    const parts = partsOf(due, segment, charged)
    return parts.map((part) => lineOf(due, segment.offer, charged, sides, part))
  })
}

/** An expired revision has no price. */
function checkRevision({ input, cycle, held }: DueCharge): void {
  const { holding, offer } = held
  const endMs = offer.revision.to.getTime()
  if (endMs > Math.max(holding.fromMs, cycle.startMs)) return
  const reason = `has no revision in force since ${dateText(dayOf(cycle.zone, endMs))}, but is held`
  throw new CycleError(input.aid, entityText(holding), reason)
}

/** The charged days, and whether their sides are prorated. */
interface Sides extends DaySpan {
  readonly isProratedStart: boolean
  readonly isProratedEnd: boolean
}

/** A side that is not prorated takes the days beside it, up to another holding of the same. */
function sidesOf({ held, same }: DueCharge, charged: CycleSpan, isFull: boolean): Sides {
  const { holding, offer } = held
  const first = dayOf(charged.zone, charged.startMs)
  const after = dayAfter(charged.zone, charged.endMs)
  const { start, end, termination } = offer.terms.proration
  const heldTo = isFull ? after : holding.toDay
  const isProratedEnd = heldTo < after && holding.isTermination ? termination : end
  const before = same.filter(({ fromDay }) => fromDay < holding.fromDay)
  const later = same.filter(({ fromDay }) => fromDay > holding.fromDay)
  return {
    fromDay: Math.max(first, ...(start ? [holding.fromDay] : before.map(({ toDay }) => toDay))),
    toDay: Math.min(after, ...(isProratedEnd ? [heldTo] : later.map(({ fromDay }) => fromDay))),
    isProratedStart: start,
    isProratedEnd,
  }
}

/** Charged days that one revision prices. */
interface Segment extends DaySpan {
  readonly offer: HeldOffer
}

/** All days by the last revision, or with `by_day` each day by the revision at its end. */
function segmentsOf({ input, cycle, held }: DueCharge, { fromDay, toDay }: DaySpan): Segment[] {
  const { holding, offer } = held
  if (fromDay >= toDay) return []
  if (offer.terms.priceChange === 'at_end') return [{ offer, fromDay, toDay }]
  const { aid, catalogue } = input
  const all = holding.kind === 'flat' ? catalogue.plans : catalogue.services
  const revisions = all.get(holding.name) ?? []
  const changes = [
    ...revisions.map(({ from }) => from.getTime()),
    ...holding.pieces.map(({ fromMs }) => fromMs),
  ]
  const inside = changes
    .map((atMs) => dayOf(cycle.zone, atMs))
    .filter((day) => day > fromDay && day < toDay)
  const starts = [...new Set([fromDay, ...inside])].sort((one, other) => one - other)
  return starts.map((start, index) => {
    const end = starts[index + 1]
    if (end === undefined) return { offer, fromDay: start, toDay }
    const at = offerAt(aid, catalogue, holding, dayStartMs(cycle.zone, end) - 1)
    return { offer: at, fromDay: start, toDay: end }
  })
}

function partsOf({ input, held }: DueCharge, segment: Segment, charged: CycleSpan): PricePart[] {
  const { tiers, recurrence } = segment.offer.terms
  const days = {
    fromDay: segment.fromDay,
    toDay: segment.toDay,
    activationDay: activationDay(input, held, charged),
    cycleDays: charged.days,
    cycleMonths: recurrence.months,
  }
  return input.settings.calendarMonthFractions ? monthParts(days, tiers) : dayParts(days, tiers)
}

/** Months of a start that is not prorated count from the begin of its period. */
function activationDay({ calendar }: TargetInput, { holding, offer }: Held, { zone }: CycleSpan) {
  const { activationMs } = holding
  const { proration, recurrence } = offer.terms
  if (proration.start) return dayOf(zone, activationMs)
  const key = keyAt(activationMs, calendar)
  return dayOf(zone, periodOf(key, recurrence, activationMs, calendar).startMs)
}

/** A service with a period of its own is charged in the cycle in which it begins. */
function chargedOnce(due: DueCharge): ChargeLine[] {
  const { cycle, held, same } = due
  const { activationMs, fromDay, toDay } = held.holding
  if (activationMs < cycle.startMs || activationMs >= cycle.endMs) return []
  const isRepeated = same.some(
    (other) => other.activationMs === activationMs && other.fromDay < fromDay,
  )
  const tier = held.offer.terms.tiers.find(({ from }) => from.isZero())
  if (isRepeated || tier === undefined) return []
  const days = { fromDay, toDay: Math.min(toDay, dayAfter(cycle.zone, cycle.endMs)) }
  const part: PricePart = { ...days, tier, factor: new Exact(1), factorText: '1' }
  const sides = { ...days, isProratedStart: false, isProratedEnd: false }
  return [lineOf(due, held.offer, cycle, sides, part)]
}

function lineOf(
  { input, timing, held }: DueCharge,
  offer: HeldOffer,
  cycle: CycleSpan,
  { isProratedStart, isProratedEnd }: Sides,
  part: PricePart,
): ChargeLine {
  const { sid, kind, name, serviceId } = held.holding
  const quantity = offer.terms.isQuantitative ? held.holding.quantity : 1
  const { tier, factor, fromDay, toDay } = part
  const zone = cycle.zone
  const span = { startMs: dayStartMs(zone, fromDay), endMs: dayStartMs(zone, toDay) }
  const days = `${dateText(fromDay)}_${dateText(toDay)}`
  return {
    id: [sid, kind, name, serviceId ?? '', cycle.key, days, tier.from].join('/'),
    aid: input.aid,
    sid,
    kind,
    name,
    ...(serviceId !== undefined && { serviceId }),
    plan: planAt(held.holding, span.endMs),
    op: 'charge',
    // Parts of a longer period that are charged late are no advance payment of the next cycle.
    isUpfront: timing === 'ahead',
    span,
    cycle,
    quantity,
    tier: { from: tier.from.toNumber(), to: tier.to === null ? 'UNLIMITED' : tier.to.toNumber() },
    fullPrice: tier.price,
    amount: tier.price.times(factor).times(quantity).toDecimalPlaces(LINE_DIGITS),
    isProratedStart,
    isProratedEnd,
    entity: offer.document,
    explain: explanationOf(input, held, offer, part, zone),
  }
}

/** The plan of a plan's own charge, and of the subscriber at the end of a service's charge. */
function planAt(holding: Holding, endMs: number): string {
  if (holding.kind === 'flat') return holding.name
  const plan = pieceAt(holding, endMs - 1).subscriber?.['plan']
  return typeof plan === 'string' ? plan : ''
}

function explanationOf(
  { settings }: TargetInput,
  { holding }: Held,
  offer: HeldOffer,
  { tier, factorText, fromDay, toDay }: PricePart,
  zone: string,
): LineExplanation {
  const { terms, revision, document } = offer
  const since = dayOf(zone, revision.from.getTime())
  const isWhole = factorText === '1'
  const notes = [
    ...(terms.tiers.length > 1 ? [`price of periods ${tierText(tier)} since the activation`] : []),
    ...(terms.isQuantitative ? [`quantity ${holding.quantity}`] : []),
    ...(document === revision ? [] : ['with an override of the customer']),
    ...(since > fromDay ? [`the price since ${dateText(since)} applies to the whole period`] : []),
    ...(holding.includedIn === undefined ? [] : [`included in plan ${holding.includedIn}`]),
  ]
  return {
    rule: ruleOf(terms, isWhole, settings.calendarMonthFractions),
    entity: {
      kind: holding.kind === 'flat' ? 'plan' : 'service',
      key: holding.name,
      revision: revisionText(revision),
    },
    from: dateText(fromDay),
    to: dateText(toDay),
    factor: factorText,
    fullPrice: tier.price.toString(),
    ...(notes.length > 0 && { notes }),
  }
}

function tierText({ from, to }: PricePart['tier']): string {
  return to === null ? `from ${from}` : `${from} to ${to}`
}

function ruleOf({ period }: OfferTerms, isWhole: boolean, isByMonth: boolean): string {
  if (period !== null) return 'price of its own period, charged once'
  if (isWhole) return 'price of the cycle'
  return isByMonth ? 'part of calendar months' : 'part of the cycle'
}
