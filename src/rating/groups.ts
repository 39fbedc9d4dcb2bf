/** Determines the counters of the groups that include a usage, in order of use. */
import type { OwnerSlot } from '../domain/bucket.ts'
import {
  type Catalogue,
  type IncludedGroup,
  type PoolMember,
  revisionAt,
  type SubscribedService,
  type SubscriberProfile,
} from '../domain/catalogue.ts'
import {
  groupCounter,
  isClosed,
  type RequiredCounter,
  UNLIMITED_TOTAL,
} from '../domain/counters.ts'
import type { Cycle } from '../domain/cycle.ts'
import {
  type ActiveProducts,
  calendarOf,
  type InstallationCalendar,
  includedService,
  type OfferInstance,
} from './active-products.ts'
import { endOfService, termsSince } from './periods.ts'

/** The products of a subscriber at an instant. */
export interface OfferQuery {
  catalogue: Catalogue
  calendar: InstallationCalendar
  profile: SubscriberProfile
  products: ActiveProducts
  cycle: Cycle
  atMs: number
}

export interface GroupQuery extends OfferQuery {
  rateKey: string
  usaget: string
  /** Start of the oldest cycle that still receives events. */
  oldestMs: number
}

export interface IncludedUsage {
  counters: RequiredCounter[]
  /** Whether any group is for such usage, including groups that are not in force. */
  hasGroups: boolean
}

const NONE: IncludedUsage = { counters: [], hasGroups: false }

export function includedFor(query: GroupQuery): IncludedUsage {
  const { offers } = query.products
  if (offers.every(({ groups }) => groups.length === 0)) return NONE
  const found: { offer: OfferInstance; counters: RequiredCounter[] }[] = []
  let hasGroups = false
  for (const offer of offers) {
    const groups = groupsFor(offer.groups, query)
    if (groups.length === 0) continue
    hasGroups = true
    if (!offer.isActive) continue
    const period = periodOf(offer, query)
    const counters = groups
      .map((group) => counterOf(group, offer, period, query))
      // The counters of closed periods have been dropped.
      .filter((counter) => !isClosed(counter, query.oldestMs))
    if (counters.length > 0) found.push({ offer, counters })
  }
  // The plan comes first, then the services by end of their period.
  const rank = ({ offer, counters }: (typeof found)[number]) =>
    offer.kind === 'plan' ? Number.NEGATIVE_INFINITY : (counters[0]?.toMs ?? 0)
  found.sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)))
  return { counters: withoutDuplicates(found.flatMap(({ counters }) => counters)), hasGroups }
}

/**
 * The counters of the groups of a name in these offers, in order of use, whatever usage they
 * include.
 */
export function countersNamed(
  name: string,
  offers: readonly OfferInstance[],
  query: OfferQuery,
): RequiredCounter[] {
  const counters = offers.flatMap((offer) =>
    offer.groups
      .filter((group) => offer.isActive && group.name === name)
      .map((group) => counterOf(group, offer, periodOf(offer, query), query)),
  )
  return withoutDuplicates(counters)
}

/** Several instances of one service share the one counter of their account. */
function withoutDuplicates(counters: RequiredCounter[]): RequiredCounter[] {
  if (counters.length < 2) return counters
  return counters.filter((counter, index) => {
    const { owner, fromMs } = counter
    const first = counters.findIndex(
      (other) =>
        other.counter === counter.counter && other.owner === owner && other.fromMs === fromMs,
    )
    return first === index
  })
}

/** The first group of units and the first group of money that include the usage. */
function groupsFor(groups: readonly IncludedGroup[], query: GroupQuery): IncludedGroup[] {
  const containing = groups.filter((group) => contains(group, query))
  const first = (kind: IncludedGroup['kind']) => containing.find((group) => group.kind === kind)
  return [first('units'), first('totalCost')].flatMap((group) => group ?? [])
}

function contains({ usagets, rates }: IncludedGroup, { rateKey, usaget }: GroupQuery): boolean {
  if (usagets.size > 0 && !usagets.has(usaget)) return false
  if (rates === 'all') return true
  return 'test' in rates ? rates.test(rateKey) : rates.has(rateKey)
}

interface Period {
  fromMs: number
  toMs: number
}

/** A service with its own period is counted from its begin to its end. */
function periodOf({ period, fromMs, toMs }: OfferInstance, { cycle }: OfferQuery): Period {
  return period === null ? { fromMs: cycle.fromMs, toMs: cycle.toMs } : { fromMs, toMs }
}

function counterOf(
  group: IncludedGroup,
  offer: OfferInstance,
  { fromMs, toMs }: Period,
  query: OfferQuery,
): RequiredCounter {
  const isOwn = group.sharing === 'none'
  const owner: OwnerSlot = isOwn ? offer.slot : 1
  const serviceId = isOwn ? offer.serviceId : 0
  const named = { holder: offer.name, serviceId, name: group.name }
  const counter = groupCounter(named, offer.period === null ? 'group' : 'term')
  const total =
    group.total >= UNLIMITED_TOTAL ? group.total : group.total * sharesOf(group, offer, query)
  return { owner, counter, kind: group.kind, fromMs, toMs, total: Math.min(total, UNLIMITED_TOTAL) }
}

/** The factor by which the amount of the group is multiplied. */
function sharesOf(group: IncludedGroup, offer: OfferInstance, query: OfferQuery): number {
  const { pool } = query.profile
  if (group.sharing !== 'pool' || pool === null) return group.isPerQuantity ? offer.quantity : 1
  return pool.reduce((sum, member) => sum + sharesOfMember(member, group, offer, query), 0)
}

function sharesOfMember(
  member: PoolMember,
  group: IncludedGroup,
  offer: OfferInstance,
  { catalogue, calendar, profile, atMs }: OfferQuery,
): number {
  const { plan, services } = member
  if (offer.kind === 'plan') return plan === offer.name ? 1 : 0
  let shares = 0
  const add = (service: SubscribedService, slot: OwnerSlot) => {
    if (service.name !== offer.name || atMs < service.fromMs || atMs >= service.toMs) return
    const terms = termsSince(catalogue.services.get(service.name) ?? [], service.fromMs)
    if (atMs >= endOfService(terms, service, calendarOf(member, slot, calendar))) return
    shares += group.isPerQuantity ? service.quantity : 1
  }
  // Services that a plan includes count for each subscriber of the plan, those of the account for
  // all.
  const itsPlan = revisionAt(catalogue.plans.get(plan), atMs)
  if (itsPlan?.services.includes(offer.name) === true) add(includedService(offer.name, member), 0)
  for (const service of services) add(service, 0)
  for (const service of profile.accountServices) add(service, 1)
  return shares
}
