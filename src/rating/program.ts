/** Rates one service and builds its charge program: integers only, ready to settle. */
import { type Bucket, bucketOrder, endedOrder, type FundingSource } from '../domain/bucket.ts'
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
import type { RequestKind, ServiceRequest } from '../domain/charge-request.ts'
import type { CounterOwners } from '../domain/counters.ts'
import type { Cycle, OpenCycle } from '../domain/cycle.ts'
import { isMoneySource } from '../domain/debt.ts'
import { lastUsedAt } from '../domain/segment.ts'
import { type CategoryPrice, plainPricing, RECORD_PRICE } from '../domain/segment-parts.ts'
import type { Segment, SegmentStart, ServiceSession } from '../domain/session.ts'
import type { TaxRule } from '../domain/tax.ts'
import {
  type ActiveProducts,
  activeProductsAt,
  calendarOf,
  type InstallationCalendar,
} from './active-products.ts'
import { priceAt } from './bands.ts'
import { includedFor } from './groups.ts'
import type { RateFinder, UsageFields } from './match/finder.ts'
import { type ChosenPrice, choosePrice, chooseTaxes, taxesBetween } from './price.ts'
import type { RatedService, RatingTerms } from './rated-service-cache.ts'
import type { TaxMapping } from './tax-mapping.ts'
import { type Usage, UsageOfSubscriber } from './usage-fields.ts'

/** The immutable input of rating, without the request. */
export interface RatingContext {
  catalogue: Catalogue
  finder: Pick<RateFinder, 'find' | 'otherCategories' | 'changeAfter' | 'readsTime'>
  /** The cycle of an event, and the start of the oldest cycle that still receives events. */
  cycleAt: (atMs: number, nowMs: number) => OpenCycle
  /** Time zone of the installation, and the first day of the cycles of `cycleAt`. */
  calendar: InstallationCalendar
  defaultTax: string | null
  mapTax: TaxMapping
  isFreeNumber: (calledNumber: string) => boolean
}

/** Rates one service for a subscriber at an instant. Returns a reason if that is not possible. */
export function rateService(
  context: RatingContext,
  profile: SubscriberProfile,
  usage: Usage,
): RatedService | Reason {
  const { service, atMs } = usage
  const { catalogue, mapTax, defaultTax } = context
  const open = context.cycleAt(atMs, usage.nowMs)
  if (context.isFreeNumber(service.calledNumber)) return freeService(profile, open)
  if (isBarred(profile, atMs)) return 'barred'
  const { zone } = calendarOf(profile, 0, context.calendar)
  const products = activeProductsAt(catalogue, profile, atMs, context.calendar)
  if (products === null) return 'unknownSubscriber'
  const fields = new UsageOfSubscriber(usage, profile, zone)
  const rate = findRate(context, service, fields, atMs)
  if (rate === null) return 'noRate'
  if (products.disallowedRates.has(rate.key)) return 'blocked'
  const terms = { catalogue, mapTax, defaultTax, zone, profile, service, open, atMs }
  const isOneCategory = context.finder.otherCategories(service.usaget).length === 0
  const known = isOneCategory ? products.ratedServices.find(rate, terms) : null
  const rated = known ?? rateBy(context, products, rate, terms, fields)
  if (typeof rated === 'string') return rated
  if (known === null && isOneCategory && isLasting(products)) {
    cacheRated(products, rate, terms, rated)
  }
  const matched = service.rateKey === '' ? untilOtherMatch(context, fields, atMs, rated) : rated
  if (matched.untilMs <= profile.toMs || atMs >= profile.toMs) return matched
  return { start: matched.start, funding: matched.funding, untilMs: profile.toMs }
}

/** Ends the terms where a rate begins that matches the usage better. */
function untilOtherMatch(
  { finder }: RatingContext,
  fields: UsageFields,
  atMs: number,
  rated: RatedService,
): RatedService {
  const { start, funding } = rated
  let endMs = finder.changeAfter(RETAIL, fields, atMs, start.endMs)
  for (const category of finder.otherCategories(fields.usaget)) {
    endMs = finder.changeAfter(category, fields, atMs, endMs)
  }
  if (endMs >= start.endMs) return rated
  return { start: { ...start, endMs }, funding, untilMs: endMs }
}

export function isBarred(profile: SubscriberProfile, atMs: number): boolean {
  return profile.barred || atMs < profile.activeFromMs || atMs >= profile.activeToMs
}

/**
 * Pooled groups depend on other subscribers of the account, which may change at any time, so the
 * result is not cached.
 */
function isLasting({ offers }: ActiveProducts): boolean {
  return offers.every(({ groups }) => groups.every(({ sharing }) => sharing !== 'pool'))
}

function cacheRated(
  products: ActiveProducts,
  rate: RateRevision,
  terms: RatingTerms,
  rated: RatedService,
): void {
  const { atMs, catalogue, service } = terms
  const chosen = choosePrice(products, rate, service.usaget)
  let { sinceMs } = taxesBetween(catalogue.taxes, atMs)
  let { untilMs } = rated
  if (chosen !== null && chosen.price.bands.length > 0) {
    // Another time band may apply before this instant and after the band ends, even at an equal
    // price.
    sinceMs = Math.max(atMs, sinceMs)
    untilMs = Math.min(untilMs, priceAt(chosen.price, atMs, terms.zone).endMs)
  }
  products.ratedServices.add(rate, terms, rated, sinceMs, untilMs)
}

/** Prices, taxes and funding counters of a service at a rate. */
function rateBy(
  context: RatingContext,
  products: ActiveProducts,
  rate: RateRevision,
  terms: RatingTerms,
  fields: UsageFields,
): RatedService | Reason {
  const { catalogue, profile, service, zone, open, atMs } = terms
  const { usaget, untaxed } = service
  const chosen = choosePrice(products, rate, usaget)
  const others = otherPrices(context, products, fields, terms)
  if (chosen === null || others === null) return 'noRate'
  const { taxes: known } = catalogue
  const taxes = untaxed ? [] : chooseTaxes({ ...context, taxes: known }, rate, atMs)
  if (taxes === null) return 'noTax'
  const { cycle, oldestMs } = open
  const { key: rateKey } = rate
  const { calendar } = context
  const query = { catalogue, calendar, profile, products, rateKey, usaget, cycle, oldestMs, atMs }
  const { counters, hasGroups } = includedFor(query)
  const isPrepaid = products.plan.connectionType === 'prepaid'
  const taxKey = untaxed ? '|untaxed' : taxes.map(taxId).join('')
  const parts = { products, others, cycle, taxes, taxKey, zone, atMs }
  const start = segmentStart(rate, chosen, parts)
  start.hasGroups = hasGroups
  start.isPrepaid = isPrepaid
  const funding = { groups: counters, credit: isPrepaid ? null : cycle, oldestMs }
  const ends = counters.map(({ toMs }) => toMs)
  const { untilMs: taxedUntilMs } = taxesBetween(known, atMs)
  start.endMs = Math.min(rate.toMs, products.untilMs, taxedUntilMs, start.endMs, ...ends)
  return { start, funding, untilMs: start.endMs }
}

/** Identifies a tax by what its line says. */
function taxId({ key, rate, isEmbedded, description }: TaxRule): string {
  return `|${key}=${rate}${isEmbedded ? ' embedded' : ''} ${description}`
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

/** Prices beside the retail one, their identity, and the time of the next change. */
interface OtherPrices {
  prices: CategoryPrice[]
  key: string
  endMs: number
}

/** Prices of the tariff categories beside retail; null if one of them has no rate. */
function otherPrices(
  { finder }: RatingContext,
  products: ActiveProducts,
  fields: UsageFields,
  { service, zone, atMs }: RatingTerms,
): OtherPrices | null {
  const prices: CategoryPrice[] = []
  const keys: string[] = []
  let nextMs = Number.POSITIVE_INFINITY
  for (const category of finder.otherCategories(service.usaget)) {
    const rate = finder.find(category, fields, atMs)
    const chosen = rate === null ? null : choosePrice(products, rate, service.usaget)
    if (rate === null || chosen === null) return null
    const { tariff, priceKey, changeMs } = priceAt(chosen.price, atMs, zone)
    prices.push({ category, rateKey: rate.key, tariff, isAdded: rate.addToRetail })
    keys.push(`${rate.id}/${chosen.id}/${priceKey}`)
    nextMs = Math.min(nextMs, changeMs, rate.toMs)
  }
  return { prices, key: keys.join(), endMs: nextMs }
}

interface StartParts {
  products: ActiveProducts
  others: OtherPrices
  cycle: Cycle
  taxes: TaxRule[]
  taxKey: string
  zone: string
  atMs: number
}

function segmentStart(
  rate: RateRevision,
  { price, source, id }: ChosenPrice,
  { products, others, cycle, taxes, taxKey, zone, atMs }: StartParts,
): SegmentStart {
  const { tariff, band, priceKey, changeMs } = priceAt(price, atMs, zone)
  const plan = products.plan.name
  const { rounding } = rate
  return {
    key: `${rate.id}|${plan}|${cycle.key}|${id}|${priceKey}|${others.key}${taxKey}`,
    pricing: {
      rateKey: rate.key,
      plan,
      cycle: cycle.key,
      tariff,
      priceOf: source,
      band,
      others: others.prices,
      taxes,
      rounding: rounding?.stage === 'after_tax' ? rounding : null,
    },
    hasGroups: false,
    fundingSources: [],
    isPrepaid: true,
    endMs: Math.min(changeMs, others.endMs, cycle.toMs),
  }
}

/** Rate key of free numbers. */
const FREE_RATE = 'FREE'

function freeService(profile: SubscriberProfile, { cycle, oldestMs }: OpenCycle): RatedService {
  const start: SegmentStart = {
    key: `free|${cycle.key}`,
    pricing: plainPricing({
      rateKey: FREE_RATE,
      plan: profile.plan,
      cycle: cycle.key,
      tariff: { tiers: [], access: 0, extraDigits: 0, terms: null },
    }),
    hasGroups: false,
    fundingSources: [],
    isPrepaid: true,
    endMs: cycle.toMs,
  }
  return { start, funding: { groups: [], credit: null, oldestMs }, untilMs: cycle.toMs }
}

/** Whether the request ends a service without usage or grant, whose line needs a rate. */
export function endsUnused(
  kind: RequestKind,
  requested: number,
  used: number,
  { segment, usedTotal }: ServiceSession,
): boolean {
  if (kind !== 'release' && kind !== 'event') return false
  return requested === 0 && used === 0 && usedTotal === 0 && segment === null
}

/**
 * Whether the catalogue is needed for the requested and used units: granted units keep their terms
 * until these end, and usage reported after expiry keeps its price.
 */
export function needsRating(
  kind: RequestKind,
  units: Pick<ServiceRequest, 'requested' | 'used' | 'usedBefore'>,
  service: ServiceSession,
  isLate: boolean,
  atMs: number,
): boolean {
  const { requested, used } = units
  if (requested > 0) return true
  if (used <= 0) return !isLate && endsUnused(kind, requested, used, service)
  const { segment } = service
  if (segment === null) return true
  if (isLate) return false
  return (
    service.reservation.units === 0 ||
    lastUsedAt(units, atMs, segment.counts.firstMs) >= segment.endMs
  )
}

/** The input of a charge program, without its terms of pricing. */
export interface ProgramRequest {
  usaget: string
  used: number
  requested: number
  atMs: number
  /** The instant whose terms apply to the used units (`usedAt`); `atMs` if absent. */
  usedMs?: number
  end: ChargeProgram['end']
  exact: boolean
  /** By when a bucket must have begun; `atMs` if absent. */
  begunMs?: number
  /**
   * Reserved units of the service: funding of usage within them is already determined. 0 if absent.
   */
  reservedUnits?: number
}

/**
 * The program of a service that continues, is closed, or both. Usage and a grant in one program
 * have the same buckets: if some begin or end then, each needs its own program (earlier-usage.ts).
 */
export function buildProgram(
  catalogue: Catalogue,
  owners: CounterOwners,
  segment: Segment | null,
  next: SegmentStart | null,
  request: ProgramRequest,
): ChargeProgram {
  const { usaget, used, requested, atMs, usedMs = atMs, end, exact, reservedUnits = 0 } = request
  const isOverUsed = used > reservedUnits
  const asksPayers = requested > 0 || isOverUsed
  const payMs = requested > 0 ? atMs : usedMs
  const begunMs = request.begunMs === atMs ? payMs : request.begunMs
  const paid = { usaget, atMs: payMs, begunMs }
  const nextOrder = asksPayers ? prepaidOrder(catalogue, owners, next, paid) : NO_SOURCES
  let order = NO_SOURCES
  if (isOverUsed) {
    const isSame = segment !== null && segment.key === next?.key
    order = isSame ? nextOrder : prepaidOrder(catalogue, owners, segment, paid)
  }
  const program = { used, requested, exact, order, nextOrder, next, atMs, end }
  if (!isOverUsed) return program
  const isOfNext =
    segment === null || (reservedUnits === 0 && next !== null) || segment.key === next?.key
  const start = isOfNext ? next : segment
  const hasMoney = (isOfNext ? nextOrder : order).some((source) => isMoneySource(owners, source))
  if (hasMoney || start === null || !start.isPrepaid) return program
  const mayPay = (bucket: Bucket) => isUsable(catalogue, bucket, usaget, start, payMs)
  return { ...program, ended: endedOrder(owners.subscriber, owners.account, mayPay, payMs) }
}

const NO_SOURCES: readonly FundingSource[] = []

/** The terms that decide which prepaid buckets may pay. */
type PaidTerms = Pick<SegmentStart, 'pricing' | 'isPrepaid'>

/** Usage and the instant at which buckets pay for it. */
interface PaidUsage {
  usaget: string
  atMs: number
  begunMs: number | undefined
}

function prepaidOrder(
  catalogue: Catalogue,
  { subscriber, account }: CounterOwners,
  start: PaidTerms | null,
  { usaget, atMs, begunMs }: PaidUsage,
): readonly FundingSource[] {
  if (start === null || !start.isPrepaid) return NO_SOURCES
  const mayPay = (bucket: Bucket) => isUsable(catalogue, bucket, usaget, start, atMs)
  return bucketOrder(subscriber, account, mayPay, atMs, begunMs)
}

/** Whether a bucket may pay: by its usage types, and by the rates that its definition allows. */
function isUsable(
  { prepaidIncludes }: Catalogue,
  { kind, usaget, prepaidIncludeId }: Bucket,
  requested: string,
  { pricing: { rateKey, plan, priceOf } }: PaidTerms,
  atMs: number,
): boolean {
  // Units would replace the price that the record has.
  if (kind === 'units' && priceOf === RECORD_PRICE) return false
  const revisions = prepaidIncludes.get(prepaidIncludeId)
  const include: PrepaidInclude | undefined = revisionAt(revisions, atMs) ?? revisions?.at(-1)
  const isItsUsage = kind === 'totalCost' || usaget === requested
  if (include === undefined) return isItsUsage
  if (!isItsUsage && !include.moreUsagets.includes(requested)) return false
  const allowed = include.allowedIn?.get(plan) ?? include.allowedIn?.get('BASE')
  return allowed === undefined || allowed.has(rateKey)
}
