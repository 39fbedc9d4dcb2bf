/**
 * Price continuation between consecutive segments of a service: across the end of a cycle, the
 * start or end of a time band, or a change of revision or plan. An interval that has begun is
 * already paid for, tiers keep counting, and access price and minimum charge are due once per
 * session.
 */
import { isGroupCounter } from './counters.ts'
import type { Counts } from './counts.ts'
import { modelOf } from './pricing/models.ts'
import type { Carried, CategoryPrice, Payment, Pricing } from './segment-parts.ts'
import type { Segment } from './session.ts'
import { canFall, charge, type PricePosition, type Tariff, type TariffTerms } from './tariff.ts'

/** The position at the start of a run without earlier charged units. */
export const START_POSITION: PricePosition = Object.freeze({
  at: 0,
  ahead: 0,
  before: 0,
  access: false,
  credit: 0,
})

/** The parts of an ended segment that its continuation depends on. */
type EndedSegment = Pick<Segment, 'pricing' | 'counts' | 'isPrepaid'>

/** The parts of its continuation. */
interface StartedSegment extends Pick<Segment, 'isPrepaid'> {
  pricing: Pick<Pricing, 'rateKey' | 'tariff' | 'others'>
}

/** The state carried into a segment, and the prices of its other categories. */
interface Continued {
  carried: Carried | null
  others: CategoryPrice[]
}

/**
 * The state that a new segment carries over. A different rate starts without any.
 * `othersAccessCharged`: whether the access price of other categories has already been charged.
 */
export function continuePrice(
  ended: EndedSegment | null,
  { pricing: start, isPrepaid }: StartedSegment,
  othersAccessCharged: boolean,
): Continued {
  const others = othersAccessCharged ? start.others.map(withoutAccess) : start.others
  if (ended === null || ended.pricing.rateKey !== start.rateKey) return { carried: null, others }
  const { pricing, counts } = ended
  const priced = pricedPosition(pricing.tariff, counts, start.tariff)
  const covered = coveredPosition(ended, start.tariff)
  const kept = start.others.map((other) => otherAfter(ended, other, othersAccessCharged))
  const positions = kept.map(({ position }) => position)
  if ([priced, covered, ...positions].every(isNew)) return { carried: null, others }
  const mayFall = canFall(pricing.tariff) || pricing.others.some(({ tariff }) => canFall(tariff))
  // Only lines of postpaid plans are on the invoice: neither kind returns what the other has paid.
  const isOwn = ended.isPrepaid === isPrepaid
  const payments = mayFall ? paymentsOf(counts) : []
  const carried: Carried = {
    priced,
    covered,
    others: positions,
    pricedSold: soldUnits(start.tariff, priced),
    coveredSold: soldUnits(start.tariff, covered),
    payments: isOwn ? payments : payments.filter(({ counter }) => isGroupCounter(counter)),
    debt: mayFall && isOwn ? counts.debt + (counts.carried?.debt ?? 0) : 0,
    accountDebt: mayFall && isOwn ? counts.accountDebt + (counts.carried?.accountDebt ?? 0) : 0,
  }
  return { carried, others: kept.map(({ other }) => other) }
}

/** The position at a tariff for charged units. */
export function pricedPosition(
  tariff: Tariff,
  { access, chargedUnits, carried }: Pick<Counts, 'access' | 'chargedUnits' | 'carried'>,
  next: Tariff,
): PricePosition {
  return positionAfter(tariff, carried?.priced ?? START_POSITION, chargedUnits, access, next)
}

/** The position for units paid by included money; these have no access price. */
function coveredPosition(
  { pricing: { tariff }, counts: { includedMoneyUnits, carried } }: EndedSegment,
  next: Tariff,
): PricePosition {
  return positionAfter(tariff, carried?.covered ?? START_POSITION, includedMoneyUnits, false, next)
}

/** Another category with its position; it prices every used unit. */
function otherAfter(
  { pricing: { others }, counts: { used, access, carried } }: EndedSegment,
  start: CategoryPrice,
  othersAccessCharged: boolean,
): { other: CategoryPrice; position: PricePosition } {
  const bare = othersAccessCharged ? withoutAccess(start) : start
  const index = others.findIndex(({ category }) => category === start.category)
  const last = others[index]
  if (last === undefined || last.rateKey !== start.rateKey)
    return { other: bare, position: START_POSITION }
  const position = carried?.others[index] ?? START_POSITION
  const isPaid = position.access || (access && used > 0)
  const other = isPaid && isSameTariff(last.tariff, start.tariff) ? start : bare
  return { other, position: positionAfter(last.tariff, position, used, access, other.tariff) }
}

/** The position at the tariff `next`, which may be the same one, after `units` priced units. */
function positionAfter(
  tariff: Tariff,
  position: PricePosition,
  units: number,
  access: boolean,
  next: Tariff,
): PricePosition {
  if (units === 0 && position === START_POSITION) return START_POSITION
  const before = position.before + units
  if (isSameTariff(tariff, next)) {
    const { at, ahead, credit } = position
    return { at, ahead, before, access: position.access || (access && units > 0), credit }
  }
  const sold = modelOf(tariff.terms).isCredited
    ? Math.max(0, position.ahead - before * scaleOf(tariff))
    : soldParts(tariff, { ...position, before })
  return {
    at: position.at + before,
    ahead: Math.ceil((sold * scaleOf(next)) / scaleOf(tariff)),
    before: 0,
    access: false,
    credit: creditAfter(tariff, position, before, position.access || access),
  }
}

/** A fixed price that was paid, and the part of a minimum charge that usage has not reached. */
function creditAfter(
  tariff: Tariff,
  position: PricePosition,
  units: number,
  access: boolean,
): number {
  const minimum = tariff.terms?.minimum ?? 0
  const isCredited = modelOf(tariff.terms).isCredited === true
  if (units === 0 || (position.credit === 0 && minimum === 0 && !isCredited)) return position.credit
  const whole = { ...position, before: 0, credit: 0 }
  const paid = charge(tariff, units, access, whole)
  const terms: TariffTerms | null = tariff.terms === null ? null : { ...tariff.terms, minimum: 0 }
  const tiers = isCredited ? tariff.tiers.map((tier) => ({ ...tier, price: 0 })) : tariff.tiers
  const used = charge({ ...tariff, tiers, terms }, units, access, whole)
  return Math.max(0, position.credit - paid) + paid - used
}

/** Whole units after the run that lie in an interval already paid for. */
export function soldUnits(tariff: Tariff, position: PricePosition): number {
  return Math.floor(soldParts(tariff, position) / scaleOf(tariff))
}

/** The remainder of the interval that has begun, in the scale of the tiers. */
function soldParts(tariff: Tariff, { at, ahead, before }: PricePosition): number {
  const scale = scaleOf(tariff)
  const start = at * scale + ahead
  const end = (at + before) * scale
  return end <= start ? start - end : modelOf(tariff.terms).sold(tariff.tiers, start, end)
}

/** Payments of the segment and those carried into it, merged by bucket and kind. */
export function paymentsOf({ payments, carried }: Pick<Counts, 'payments' | 'carried'>): Payment[] {
  const sums: Payment[] = []
  for (const payment of [...(carried?.payments ?? []), ...payments]) {
    const sum = sums.find((other) => isSamePayer(other, payment))
    if (sum === undefined) sums.push({ ...payment })
    else sum.amount += payment.amount
  }
  return sums.filter(({ amount }) => amount !== 0)
}

export function isSamePayer(one: Payment, other: Payment): boolean {
  return one.owner === other.owner && one.bucketId === other.bucketId && one.kind === other.kind
}

/** Removes the access price together with the minimum charge that goes with it. */
function withoutAccess(other: CategoryPrice): CategoryPrice {
  const { category, rateKey, isAdded, tariff } = other
  const { tiers, extraDigits } = tariff
  const terms = tariff.terms === null ? null : { ...tariff.terms, minimum: 0 }
  return { category, rateKey, tariff: { tiers, access: 0, extraDigits, terms }, isAdded }
}

function isNew(position: PricePosition): boolean {
  const { at, ahead, before, credit } = position
  return at === 0 && ahead === 0 && before === 0 && credit === 0
}

function scaleOf({ terms }: Tariff): number {
  return terms?.unitScale ?? 1
}

/** Compares by value: equal tariffs may come from different rates and revisions. */
export function isSameTariff(one: Tariff, other: Tariff): boolean {
  if (one === other) return true
  return (
    one.access === other.access &&
    one.extraDigits === other.extraDigits &&
    one.tiers.length === other.tiers.length &&
    hasSameTerms(one.terms, other.terms) &&
    one.tiers.every((tier, index) => {
      const same = other.tiers[index]
      return (
        tier.units === same?.units &&
        tier.interval === same.interval &&
        tier.price === same.price &&
        tier.ceil === same.ceil
      )
    })
  )
}

function hasSameTerms(one: TariffTerms | null, other: TariffTerms | null): boolean {
  if (one === null || other === null) return one === other
  return (
    one.method === other.method &&
    one.unitScale === other.unitScale &&
    one.factor === other.factor &&
    one.factorDigits === other.factorDigits &&
    one.minimum === other.minimum &&
    one.rounding?.mode === other.rounding?.mode &&
    one.rounding?.step === other.rounding?.step
  )
}
