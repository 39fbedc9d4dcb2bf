/**
 * What a subscriber holds at an instant: the plan and the services, as overrides have them. Pure.
 */
import type { OwnerSlot } from '../domain/bucket.ts'
import {
  type Catalogue,
  type Facts,
  type IncludedGroup,
  type Override,
  type PlanRevision,
  type PriceOverrides,
  revisionAt,
  type ServicePeriod,
  type ServiceRevision,
  type SubscribedService,
  type SubscriberProfile,
} from '../domain/catalogue.ts'
import { FOREVER_MS } from '../domain/time.ts'
import { meets } from './conditions.ts'
import { endOfService, type HolderCalendar, termsSince } from './periods.ts'
import { RatedServiceCache } from './rated-service-cache.ts'

/** A plan or a service instance with what it brings. */
export interface OfferInstance {
  kind: 'plan' | 'service'
  name: string
  /** Identity of what its prices depend on. */
  id: string
  /** Tells instances of a service apart; 0 for the plan. */
  serviceId: number
  /** Whose counters it has: the subscriber's, or those of the account that holds it. */
  slot: OwnerSlot
  prices: PriceOverrides
  groups: readonly IncludedGroup[]
  period: ServicePeriod | null
  fromMs: number
  toMs: number
  quantity: number
  /** Held at the instant. One that is not still tells that its groups were meant for a usage. */
  isActive: boolean
}

export interface ActiveProducts {
  plan: PlanRevision
  disallowedRates: ReadonlySet<string>
  /** The plan, then its services, the subscriber's and the account's. */
  offers: readonly OfferInstance[]
  /** It is so in [sinceMs, untilMs), epoch ms. */
  sinceMs: number
  untilMs: number
  /** What was rated under them. */
  readonly known: RatedServiceCache
}

/** By which accounts hold their services, and subscribers without a time zone of their own. */
export interface InstallationCalendar {
  /** IANA zone. */
  zone: string
  /** Day of the month on which the billing cycle begins. */
  cycleDay: number
}

interface CachedProducts {
  holdings: ActiveProducts
  calendar: InstallationCalendar
}

/**
 * What was found in one catalogue. Another one begins anew: plans, rates and profiles outlive a
 * catalogue, and what is remembered of them must not keep the old ones in memory.
 */
class ProductCache {
  readonly catalogue: Catalogue | null
  /** The last ones of each profile: between two boundaries of time they stay the same. */
  readonly ofProfile = new WeakMap<SubscriberProfile, CachedProducts>()
  /** Of those who hold nothing but a plan that brings no services: the same for all of them. */
  readonly ofPlan = new WeakMap<PlanRevision, ActiveProducts>()

  constructor(catalogue: Catalogue | null) {
    this.catalogue = catalogue
  }
}

let productCache = new ProductCache(null)

/**
 * Null if the plan is not in the catalogue. Those of a plan alone hold as long as its revision, and
 * that may be longer than the profile does.
 */
export function activeProductsAt(
  catalogue: Catalogue,
  profile: SubscriberProfile,
  atMs: number,
  calendar: InstallationCalendar,
): ActiveProducts | null {
  if (productCache.catalogue !== catalogue) productCache = new ProductCache(catalogue)
  if (isPlain(profile)) {
    const plan = revisionAt(catalogue.plans.get(profile.plan), atMs)
    if (plan === null) return null
    if (plan.services.length === 0) return productsOfPlan(plan)
  }
  const last = productCache.ofProfile.get(profile)
  if (last !== undefined && isSame(last.calendar, calendar)) {
    const { holdings } = last
    if (atMs >= holdings.sinceMs && atMs < holdings.untilMs) return holdings
  }
  const holdings = findProducts(catalogue, profile, atMs, calendar)
  if (holdings !== null) productCache.ofProfile.set(profile, { holdings, calendar })
  return holdings
}

function isSame(one: InstallationCalendar, other: InstallationCalendar): boolean {
  return one.zone === other.zone && one.cycleDay === other.cycleDay
}

/** Whether it holds nothing of its own, or of its account, that could change what it pays. */
function isPlain({ services, accountServices, overrides }: SubscriberProfile): boolean {
  return services.length === 0 && accountServices.length === 0 && overrides.length === 0
}

function productsOfPlan(plan: PlanRevision): ActiveProducts {
  let holdings = productCache.ofPlan.get(plan)
  if (holdings === undefined) {
    const { disallowedRates, fromMs: sinceMs, toMs: untilMs } = plan
    const offers = [offerOfPlan(plan, null, '')]
    holdings = { plan, disallowedRates, offers, sinceMs, untilMs, known: new RatedServiceCache() }
    productCache.ofPlan.set(plan, holdings)
  }
  return holdings
}

function offerOfPlan(
  plan: PlanRevision,
  override: Fields | null,
  profileId: string,
): OfferInstance {
  return {
    kind: 'plan',
    name: plan.name,
    id: override === null ? plan.id : `${plan.id}~${profileId}`,
    serviceId: 0,
    slot: 0,
    prices: override?.prices ?? plan.prices,
    groups: override?.groups ?? plan.groups,
    period: null,
    fromMs: plan.fromMs,
    toMs: plan.toMs,
    quantity: 1,
    isActive: true,
  }
}

function findProducts(
  catalogue: Catalogue,
  profile: SubscriberProfile,
  atMs: number,
  calendar: InstallationCalendar,
): ActiveProducts | null {
  const plan = revisionAt(catalogue.plans.get(profile.plan), atMs)
  if (plan === null) return null
  const override = overrideOf(profile, 'plan', plan.name, 0, plan.facts)
  const offers = [offerOfPlan(plan, override, profile.id)]
  const holdings = {
    plan,
    disallowedRates: override?.disallowedRates ?? plan.disallowedRates,
    offers,
    sinceMs: Math.max(plan.fromMs, profile.fromMs),
    untilMs: Math.min(plan.toMs, profile.toMs),
    known: new RatedServiceCache(),
  }
  addServices(holdings, catalogue, profile, atMs, calendar)
  return holdings
}

function addServices(
  holdings: ActiveProducts & { offers: OfferInstance[] },
  catalogue: Catalogue,
  profile: SubscriberProfile,
  atMs: number,
  calendar: InstallationCalendar,
): void {
  const { plan, offers } = holdings
  const seen = new Map<string, number>()
  const add = (entry: SubscribedService, slot: OwnerSlot) => {
    const revisions = catalogue.services.get(entry.name)
    const service = revisionAt(revisions, atMs) ?? revisions?.at(-1)
    if (revisions === undefined || service === undefined) return
    const terms = termsSince(revisions, entry.fromMs)
    const toMs = endOfService(terms, entry, calendarOf(profile, slot, calendar))
    const held = { ...entry, toMs, period: terms.period }
    boundBy(holdings, held, atMs)
    // Another revision than this one may hold before and after it.
    for (const revision of revisions) boundBy(holdings, revision, atMs)
    const serviceId = instanceOf(held, slot, seen)
    offers.push(offerOf(profile, held, service, serviceId, slot, atMs))
  }
  for (const name of plan.services) add(includedService(name, profile), 0)
  for (const held of profile.services) add(held, 0)
  for (const held of profile.accountServices) add(held, 1)
}

/** It is so at most until the next boundary of the span, and since the last one. */
function boundBy(
  holdings: ActiveProducts,
  span: { fromMs: number; toMs: number },
  atMs: number,
): void {
  for (const boundaryMs of [span.fromMs, span.toMs]) {
    if (boundaryMs > atMs) holdings.untilMs = Math.min(holdings.untilMs, boundaryMs)
    else holdings.sinceMs = Math.max(holdings.sinceMs, boundaryMs)
  }
}

/** A service that the plan includes is held since the plan is. */
export function includedService(
  name: string,
  { planFromMs: fromMs }: Pick<SubscriberProfile, 'planFromMs'>,
): SubscribedService {
  return { name, serviceId: 0, fromMs, toMs: FOREVER_MS, quantity: 1 }
}

/** The calendar by which a subscriber, or (slot 1) its account, holds services. */
export function calendarOf(
  { timeZone }: Pick<SubscriberProfile, 'timeZone'>,
  slot: OwnerSlot,
  { zone, cycleDay }: InstallationCalendar,
): HolderCalendar {
  if (slot === 1) return { zone, cycleDay }
  return { zone: timeZone === '' ? zone : timeZone, cycleDay: null }
}

/**
 * Entries that were given no id are told apart by their order; those of the account by themselves,
 * for they are the same for all its subscribers.
 */
function instanceOf(
  { name, serviceId }: SubscribedService,
  slot: OwnerSlot,
  seen: Map<string, number>,
): number {
  if (serviceId !== 0) return serviceId
  const entry = `${slot}/${name}`
  const count = seen.get(entry) ?? 0
  seen.set(entry, count + 1)
  return count === 0 ? 0 : -count
}

function offerOf(
  profile: SubscriberProfile,
  held: SubscribedService & { period: ServicePeriod | null },
  service: ServiceRevision,
  serviceId: number,
  slot: OwnerSlot,
  atMs: number,
): OfferInstance {
  const facts = { ...service.facts, quantity: held.quantity, service_id: held.serviceId }
  const override = overrideOf(profile, 'service', service.name, held.serviceId, facts)
  const isInForce = atMs >= service.fromMs && atMs < service.toMs
  return {
    kind: 'service',
    name: service.name,
    id: override === null ? service.id : `${service.id}~${profile.id}~${serviceId}`,
    serviceId,
    slot,
    prices: override?.prices ?? service.prices,
    groups: override?.groups ?? service.groups,
    period: held.period,
    fromMs: held.fromMs,
    toMs: held.toMs,
    quantity: held.quantity,
    isActive: isInForce && atMs >= held.fromMs && atMs < held.toMs,
  }
}

type Fields = Pick<Override, 'prices' | 'groups' | 'disallowedRates'>

/** The fields that overrides replace, the last one that has a field first; null if none is met. */
function overrideOf(
  profile: SubscriberProfile,
  type: Override['type'],
  key: string,
  serviceId: number,
  facts: Facts,
): Fields | null {
  const met = profile.overrides.filter(
    (override) =>
      override.type === type &&
      override.key === key &&
      (override.serviceId === 0 || override.serviceId === serviceId) &&
      meets(override.conditions, facts),
  )
  if (met.length === 0) return null
  return {
    prices: met.findLast(({ prices }) => prices !== null)?.prices ?? null,
    groups: met.findLast(({ groups }) => groups !== null)?.groups ?? null,
    disallowedRates:
      met.findLast(({ disallowedRates }) => disallowedRates !== null)?.disallowedRates ?? null,
  }
}
