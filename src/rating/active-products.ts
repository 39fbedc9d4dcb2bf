/**
 * The active products of a subscriber: the plan and services in force at an instant, with overrides
 * applied. Pure.
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

/** A plan or an instance of a service, with its prices and groups. */
export interface OfferInstance {
  kind: 'plan' | 'service'
  name: string
  /** Identifies everything that its prices depend on. */
  id: string
  /** Distinguishes instances of a service; 0 for the plan. */
  serviceId: number
  /** Owner of its counters: the subscriber, or the account whose service it is. */
  slot: OwnerSlot
  prices: PriceOverrides
  groups: readonly IncludedGroup[]
  period: ServicePeriod | null
  fromMs: number
  toMs: number
  quantity: number
  /**
   * Whether it is in force at the instant. The groups of inactive instances still make usage
   * `over_group`.
   */
  isActive: boolean
}

export interface ActiveProducts {
  plan: PlanRevision
  disallowedRates: ReadonlySet<string>
  /** The plan, then its services, the subscriber's and the account's. */
  offers: readonly OfferInstance[]
  /** Valid in [sinceMs, untilMs), epoch ms. */
  sinceMs: number
  untilMs: number
  /** Cache of the services that were rated with these products. */
  readonly ratedServices: RatedServiceCache
}

/** Calendar for services of accounts, and of subscribers without their own time zone. */
export interface InstallationCalendar {
  /** IANA zone. */
  zone: string
  /** Day of the month on which the billing cycle begins. */
  cycleDay: number
}

interface CachedProducts {
  products: ActiveProducts
  calendar: InstallationCalendar
}

/**
 * The cached products for one catalogue. A new catalogue starts a new cache: plans, rates and
 * profiles outlive a catalogue, and their cache entries must not keep the old one in memory.
 */
class ProductCache {
  readonly catalogue: Catalogue | null
  /** The last result for each profile: it stays the same between two time boundaries. */
  readonly ofProfile = new WeakMap<SubscriberProfile, CachedProducts>()
  /**
   * The products of subscribers with only a plan that includes no services: shared by all of them.
   */
  readonly ofPlan = new WeakMap<PlanRevision, ActiveProducts>()

  constructor(catalogue: Catalogue | null) {
    this.catalogue = catalogue
  }
}

let productCache = new ProductCache(null)

/**
 * Null if the plan is not in the catalogue. The products of a plan alone are valid as long as its
 * revision, which may be longer than the profile is.
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
    const { products } = last
    if (atMs >= products.sinceMs && atMs < products.untilMs) return products
  }
  const products = findProducts(catalogue, profile, atMs, calendar)
  if (products !== null) productCache.ofProfile.set(profile, { products, calendar })
  return products
}

function isSame(one: InstallationCalendar, other: InstallationCalendar): boolean {
  return one.zone === other.zone && one.cycleDay === other.cycleDay
}

/** Whether neither the subscriber nor its account has services or overrides. */
function isPlain({ services, accountServices, overrides }: SubscriberProfile): boolean {
  return services.length === 0 && accountServices.length === 0 && overrides.length === 0
}

function productsOfPlan(plan: PlanRevision): ActiveProducts {
  let products = productCache.ofPlan.get(plan)
  if (products === undefined) {
    const { disallowedRates, fromMs: sinceMs, toMs: untilMs } = plan
    const offers = [offerOfPlan(plan, null, '')]
    products = {
      plan,
      disallowedRates,
      offers,
      sinceMs,
      untilMs,
      ratedServices: new RatedServiceCache(),
    }
    productCache.ofPlan.set(plan, products)
  }
  return products
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
  const products = {
    plan,
    disallowedRates: override?.disallowedRates ?? plan.disallowedRates,
    offers,
    sinceMs: plan.fromMs,
    untilMs: plan.toMs,
    ratedServices: new RatedServiceCache(),
  }
  // A grant also asks for the time after the profile.
  boundBy(products, profile, atMs)
  addServices(products, catalogue, profile, atMs, calendar)
  return products
}

function addServices(
  products: ActiveProducts & { offers: OfferInstance[] },
  catalogue: Catalogue,
  profile: SubscriberProfile,
  atMs: number,
  calendar: InstallationCalendar,
): void {
  const { plan, offers } = products
  const seen = new Map<string, number>()
  const add = (entry: SubscribedService, slot: OwnerSlot) => {
    const revisions = catalogue.services.get(entry.name)
    const service = revisionAt(revisions, atMs) ?? revisions?.at(-1)
    if (revisions === undefined || service === undefined) return
    const terms = termsSince(revisions, entry.fromMs)
    const toMs = endOfService(terms, entry, calendarOf(profile, slot, calendar))
    const active = { ...entry, toMs, period: terms.period }
    boundBy(products, active, atMs)
    // Another revision may be in force before and after this one.
    for (const revision of revisions) boundBy(products, revision, atMs)
    const serviceId = instanceOf(active, slot, seen)
    offers.push(offerOf(profile, active, service, serviceId, slot, atMs))
  }
  for (const name of plan.services) add(includedService(name, profile), 0)
  for (const service of profile.services) add(service, 0)
  for (const service of profile.accountServices) add(service, 1)
}

/** Limits the validity to the time between the boundaries of the span around the instant. */
function boundBy(
  products: ActiveProducts,
  span: { fromMs: number; toMs: number },
  atMs: number,
): void {
  for (const boundaryMs of [span.fromMs, span.toMs]) {
    if (boundaryMs > atMs) products.untilMs = Math.min(products.untilMs, boundaryMs)
    else products.sinceMs = Math.max(products.sinceMs, boundaryMs)
  }
}

/** A service that the plan includes begins with the plan. */
export function includedService(
  name: string,
  { planFromMs: fromMs }: Pick<SubscriberProfile, 'planFromMs'>,
): SubscribedService {
  return { name, serviceId: 0, fromMs, toMs: FOREVER_MS, quantity: 1 }
}

/** The calendar for services of a subscriber, or (slot 1) of its account. */
export function calendarOf(
  { timeZone }: Pick<SubscriberProfile, 'timeZone'>,
  slot: OwnerSlot,
  { zone, cycleDay }: InstallationCalendar,
): HolderCalendar {
  if (slot === 1) return { zone, cycleDay }
  return { zone: timeZone === '' ? zone : timeZone, cycleDay: null }
}

/**
 * Entries without an id are numbered in order. Entries of the account are counted separately, since
 * they are the same for all its subscribers.
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
  active: SubscribedService & { period: ServicePeriod | null },
  service: ServiceRevision,
  serviceId: number,
  slot: OwnerSlot,
  atMs: number,
): OfferInstance {
  const facts = { ...service.facts, quantity: active.quantity, service_id: active.serviceId }
  const override = overrideOf(profile, 'service', service.name, active.serviceId, facts)
  const isInForce = atMs >= service.fromMs && atMs < service.toMs
  return {
    kind: 'service',
    name: service.name,
    id: override === null ? service.id : `${service.id}~${profile.id}~${serviceId}`,
    serviceId,
    slot,
    prices: override?.prices ?? service.prices,
    groups: override?.groups ?? service.groups,
    period: active.period,
    fromMs: active.fromMs,
    toMs: active.toMs,
    quantity: active.quantity,
    isActive: isInForce && atMs >= active.fromMs && atMs < active.toMs,
  }
}

type Fields = Pick<Override, 'prices' | 'groups' | 'disallowedRates'>

/**
 * The fields replaced by overrides, where the last override of a field wins; null if no override
 * applies.
 */
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
