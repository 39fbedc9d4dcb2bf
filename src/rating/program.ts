/**
 * Builds the charge program of one service: integers only, ready to settle (design.md §2, stage 6).
 */
import { type Bucket, bucketOrder, type Payer } from '../domain/bucket.ts'
import {
  type Catalogue,
  type PrepaidInclude,
  type RateRevision,
  RETAIL,
  revisionAt,
  type SubscriberProfile,
} from '../domain/catalogue.ts'
import type { Reason } from '../domain/charge-outcome.ts'
import type { ChargeProgram } from '../domain/charge-program.ts'
import type { ServiceRequest } from '../domain/charge-request.ts'
import {
  type CountedOwners,
  type CounterWanted,
  CREDIT,
  openCounters,
  UNLIMITED_TOTAL,
} from '../domain/counters.ts'
import type { Cycle } from '../domain/cycle.ts'
import type { CategoryPrice, Segment, SegmentStart, ServiceSession } from '../domain/session.ts'
import { priceAt } from './bands.ts'
import { includedFor } from './groups.ts'
import { type Holdings, holdingsAt } from './holdings.ts'
import type { RateFinder, UsageFields } from './match/finder.ts'
import { type ChosenPrice, choosePrice, chooseTaxes, type TaxMapping } from './price.ts'

/** What rating needs beside the request: all of it immutable. */
export interface RatingContext {
  catalogue: Catalogue
  finder: RateFinder
  /** The cycle that an event counts in, and the begin of the oldest one that still receives any. */
  cycleAt: (atMs: number, nowMs: number) => { cycle: Cycle; oldestMs: number }
  /** IANA zone of the installation. */
  zone: string
  defaultTax: string
  mapTax: TaxMapping
  isFreeNumber: (calledNumber: string) => boolean
}

/** A usage to be rated. */
export interface Usage {
  service: ServiceRequest
  fields: Readonly<Record<string, string>> | null
  atMs: number
  /** The node's clock: decides which cycles are open. */
  nowMs: number
}

/** What pricing depends on, and until when it stays so (epoch ms). `payers` are not open yet. */
export interface RatedService {
  start: SegmentStart
  wanted: WantedPayers
  untilMs: number
}

/** The counters that pay, in order; the last ones are credit. */
export interface WantedPayers {
  counters: readonly CounterWanted[]
  groups: number
  oldestMs: number
}

/** Rates one service for a subscriber at an instant, or says why it cannot be. */
export function rateService(
  context: RatingContext,
  profile: SubscriberProfile,
  usage: Usage,
): RatedService | Reason {
  const { service, atMs } = usage
  const { cycle, oldestMs } = context.cycleAt(atMs, usage.nowMs)
  if (context.isFreeNumber(service.calledNumber)) return freeService(profile, cycle, oldestMs)
  if (profile.barred || atMs < profile.activeFromMs || atMs >= profile.activeToMs) return 'barred'
  const zone = profile.timeZone === '' ? context.zone : profile.timeZone
  const holdings = holdingsAt(context.catalogue, profile, atMs, zone)
  if (holdings === null) return 'unknownSubscriber'
  const fields = usageFields(usage, profile, zone)
  const rate = findRate(context, service, fields, atMs)
  if (rate === null) return 'noRate'
  if (holdings.disallowedRates.has(rate.key)) return 'blocked'
  const chosen = choosePrice(holdings, rate, service.usaget)
  const others = otherPrices(context, holdings, fields, usage, zone)
  if (chosen === null || others === null) return 'noRate'
  const taxes = service.untaxed
    ? []
    : chooseTaxes({ ...context, taxes: context.catalogue.taxes }, rate, atMs)
  if (taxes === null) return 'noTax'
  const { usaget } = service
  const { key: rateKey } = rate
  const { catalogue } = context
  const query = { catalogue, profile, holdings, rateKey, usaget, cycle, oldestMs, atMs }
  const { counters, hasGroups } = includedFor(query)
  const isPrepaid = holdings.plan.connectionType === 'prepaid'
  const credit = isPrepaid ? [] : creditCounters(profile, cycle)
  const start = segmentStart(rate, chosen, { holdings, others, cycle, zone, atMs })
  return {
    start: {
      ...start,
      key: service.untaxed ? `${start.key}|untaxed` : start.key,
      taxes,
      hasGroups,
      isPrepaid,
    },
    wanted: { counters: [...counters, ...credit], groups: counters.length, oldestMs },
    untilMs: Math.min(
      rate.toMs,
      holdings.untilMs,
      start.endMs,
      ...counters.map(({ toMs }) => toMs),
    ),
  }
}

function findRate(
  { catalogue, finder }: RatingContext,
  { rateKey, usaget }: ServiceRequest,
  fields: UsageFields,
  atMs: number,
): RateRevision | null {
  if (rateKey === '') return finder.find(RETAIL, fields, atMs)
  const rate = revisionAt(catalogue.rates.get(rateKey), atMs)
  return rate?.usages.has(usaget) === true ? rate : null
}

function usageFields(
  { service, fields }: Usage,
  profile: SubscriberProfile,
  timeZone: string,
): UsageFields {
  const { usaget, ratingGroup, calledNumber } = service
  const { plan, play } = profile
  const field = (name: string): string | undefined => service.fields?.[name] ?? fields?.[name]
  return { usaget, ratingGroup, calledNumber, plan, play, timeZone, field }
}

/** Prices beside the retail one, what tells them from others, and when one of them changes. */
interface OtherPrices {
  prices: CategoryPrice[]
  key: string
  endMs: number
}

/** Prices of the tariff categories beside retail; null if one of them has no rate. */
function otherPrices(
  { finder }: RatingContext,
  holdings: Holdings,
  fields: UsageFields,
  { service, atMs }: Usage,
  zone: string,
): OtherPrices | null {
  const prices: CategoryPrice[] = []
  const keys: string[] = []
  let nextMs = Number.POSITIVE_INFINITY
  for (const category of finder.otherCategories(service.usaget)) {
    const rate = finder.find(category, fields, atMs)
    const chosen = rate === null ? null : choosePrice(holdings, rate, service.usaget)
    if (rate === null || chosen === null) return null
    const { tariff, band, endMs } = priceAt(chosen.price, atMs, zone)
    prices.push({ category, rateKey: rate.key, tariff, isAdded: rate.addToRetail })
    keys.push(`${rate.id}/${chosen.id}/${band}`)
    nextMs = Math.min(nextMs, endMs)
  }
  return { prices, key: keys.join(), endMs: nextMs }
}

interface StartParts {
  holdings: Holdings
  others: OtherPrices
  cycle: Cycle
  zone: string
  atMs: number
}

function segmentStart(
  rate: RateRevision,
  { price, source, id }: ChosenPrice,
  { holdings, others, cycle, zone, atMs }: StartParts,
): SegmentStart {
  const { tariff, band, endMs } = priceAt(price, atMs, zone)
  const plan = holdings.plan.name
  const { rounding } = rate
  return {
    key: `${rate.id}|${plan}|${cycle.key}|${id}|${band}|${others.key}`,
    rateKey: rate.key,
    plan,
    cycle: cycle.key,
    tariff,
    priceOf: source,
    band,
    others: others.prices,
    taxes: [],
    rounding: rounding?.stage === 'after_tax' ? rounding : null,
    hasGroups: false,
    payers: [],
    isPrepaid: true,
    endMs: Math.min(endMs, others.endMs, cycle.toMs),
  }
}

/** Rate key of numbers that are free for everybody. */
const FREE_RATE = 'FREE'

function freeService(profile: SubscriberProfile, cycle: Cycle, oldestMs: number): RatedService {
  const start: SegmentStart = {
    key: `free|${cycle.key}`,
    rateKey: FREE_RATE,
    plan: profile.plan,
    cycle: cycle.key,
    tariff: { tiers: [], access: 0, extraDigits: 0, terms: null },
    ...{ priceOf: 'BASE', band: '', others: [], taxes: [], rounding: null },
    ...{ hasGroups: false, payers: [], isPrepaid: true },
    endMs: cycle.toMs,
  }
  return { start, wanted: { counters: [], groups: 0, oldestMs }, untilMs: cycle.toMs }
}

/** What is owed in the cycle: by the subscriber, and by the account if that has a limit. */
function creditCounters(profile: SubscriberProfile, { fromMs, toMs }: Cycle): CounterWanted[] {
  const period = { counter: CREDIT, kind: 'totalCost', fromMs, toMs } as const
  const { creditLimit, accountCreditLimit } = profile
  const own: CounterWanted = { ...period, owner: 0, total: creditLimit ?? UNLIMITED_TOTAL }
  if (accountCreditLimit === null) return [own]
  return [own, { ...period, owner: 1, total: accountCreditLimit }]
}

/** Opens the counters that pay, and names them in the segment. */
export function openPayers(
  owners: CountedOwners,
  { start, wanted }: RatedService,
): { owners: CountedOwners; start: SegmentStart } {
  const { counters, groups, oldestMs } = wanted
  if (counters.length === 0) return { owners, start }
  const opened = openCounters(owners, counters, oldestMs)
  const payers: Payer[] = counters.slice(0, groups).map(({ owner }, index) => ({
    ...{ owner, id: opened.ids[index] as number },
    ...{ isGroup: true, alsoIn: null },
  }))
  const [own, account] = opened.ids.slice(groups)
  if (own !== undefined) {
    const alsoIn = account === undefined ? null : ({ owner: 1, id: account } as const)
    payers.push({ owner: 0, id: own, isGroup: false, alsoIn })
  }
  return { owners: opened.owners, start: { ...start, payers } }
}

/**
 * Whether the catalogue is needed at all: what was granted keeps its own price, and so does what is
 * reported late.
 */
export function needsRating(
  request: ServiceRequest,
  service: ServiceSession,
  isLate: boolean,
  atMs: number,
): boolean {
  if (request.requested > 0) return true
  if (request.used <= 0) return false
  const { segment } = service
  if (segment === null) return true
  if (isLate) return false
  return service.reservation.units === 0 || atMs > segment.endMs
}

/** What a service is settled by, besides the price that holds from now on. */
export interface ProgramRequest {
  usaget: string
  used: number
  requested: number
  atMs: number
  end: ChargeProgram['end']
  exact: boolean
}

/** The program of a service that is used on, closed or both. */
export function buildProgram(
  catalogue: Catalogue,
  owners: CountedOwners,
  segment: Segment | null,
  next: SegmentStart | null,
  { usaget, used, requested, atMs, end, exact }: ProgramRequest,
): ChargeProgram {
  const nextOrder = prepaidOrder(catalogue, owners, next, usaget, atMs)
  const isSame = segment !== null && segment.key === next?.key
  const order = isSame ? nextOrder : prepaidOrder(catalogue, owners, segment, usaget, atMs)
  return { used, requested, exact, order, nextOrder, next, atMs, end }
}

const NOBODY: readonly Payer[] = []

function prepaidOrder(
  catalogue: Catalogue,
  { subscriber, account }: CountedOwners,
  start: SegmentStart | null,
  usaget: string,
  atMs: number,
): readonly Payer[] {
  if (start === null || !start.isPrepaid) return NOBODY
  const mayPay = (bucket: Bucket) => isUsable(catalogue, bucket, usaget, start, atMs)
  return bucketOrder(subscriber, account, mayPay, atMs)
}

/** Its usage types, and whether its definition lets it pay for the rate (spec/realtime.md 6.3). */
function isUsable(
  { prepaidIncludes }: Catalogue,
  { kind, usaget, prepaidIncludeId }: Bucket,
  wanted: string,
  { rateKey, plan }: SegmentStart,
  atMs: number,
): boolean {
  const revisions = prepaidIncludes.get(prepaidIncludeId)
  const include: PrepaidInclude | undefined = revisionAt(revisions, atMs) ?? revisions?.at(-1)
  const isItsUsage = kind === 'totalCost' || usaget === wanted
  if (include === undefined) return isItsUsage
  if (!isItsUsage && !include.moreUsagets.includes(wanted)) return false
  const allowed = include.allowedIn?.get(plan) ?? include.allowedIn?.get('BASE')
  return allowed === undefined || allowed.has(rateKey)
}
