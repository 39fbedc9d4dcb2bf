/** Which counters include a usage, in the order of use (spec/realtime.md 4.4). */
import type { OwnerSlot } from '../domain/bucket.ts'
import type {
  IncludedGroup,
  PoolMember,
  ServicePeriod,
  SubscriberProfile,
} from '../domain/catalogue.ts'
import { type CounterWanted, groupCounter, UNLIMITED_TOTAL } from '../domain/counters.ts'
import type { Cycle } from '../domain/cycle.ts'
import { instantOf, localTime } from '../domain/time.ts'
import type { HeldOffer, Holdings } from './holdings.ts'

export interface GroupQuery {
  profile: SubscriberProfile
  holdings: Holdings
  rateKey: string
  usaget: string
  cycle: Cycle
  zone: string
  atMs: number
}

export interface IncludedUsage {
  counters: CounterWanted[]
  /** Whether any group is meant for such a usage, also one that does not hold now. */
  hasGroups: boolean
}

const NONE: IncludedUsage = { counters: [], hasGroups: false }

export function includedFor(query: GroupQuery): IncludedUsage {
  const { offers } = query.holdings
  if (offers.every(({ groups }) => groups.length === 0)) return NONE
  const found: { offer: HeldOffer; counters: CounterWanted[] }[] = []
  let hasGroups = false
  for (const offer of offers) {
    const groups = strongest(offer.groups, query)
    if (groups.length === 0) continue
    hasGroups = true
    const period = offer.isActive ? periodOf(offer, query) : null
    if (period === null) continue
    found.push({ offer, counters: groups.map((group) => counterOf(group, offer, period, query)) })
  }
  // The plan comes first; of the services what ends first.
  const rank = ({ offer, counters }: (typeof found)[number]) =>
    offer.kind === 'plan' ? Number.NEGATIVE_INFINITY : (counters[0]?.toMs ?? 0)
  found.sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)))
  return { counters: found.flatMap(({ counters }) => counters), hasGroups }
}

/** The first group of units and the first of money that contain the usage; no second ones. */
function strongest(groups: readonly IncludedGroup[], query: GroupQuery): IncludedGroup[] {
  const containing = groups.filter((group) => contains(group, query))
  const first = (kind: IncludedGroup['kind']) => containing.find((group) => group.kind === kind)
  return [first('units'), first('totalCost')].flatMap((group) => group ?? [])
}

function contains({ usagets, rates }: IncludedGroup, { rateKey, usaget }: GroupQuery): boolean {
  if (usagets.size > 0 && !usagets.has(usaget)) return false
  if (rates === 'all') return true
  return rates instanceof RegExp ? rates.test(rateKey) : rates.has(rateKey)
}

interface Period {
  fromMs: number
  toMs: number
}

/** Null: the period of the service is over. */
function periodOf(offer: HeldOffer, { cycle, zone, atMs }: GroupQuery): Period | null {
  if (offer.period === null) return { fromMs: cycle.fromMs, toMs: cycle.toMs }
  const { fromMs } = offer
  const toMs = Math.min(endOf(offer.period, fromMs, zone), offer.toMs)
  return atMs < toMs ? { fromMs, toMs } : null
}

/** By the calendar: a month later is the same day, or the last one of a shorter month. */
export function endOf(period: ServicePeriod, fromMs: number, zone: string): number {
  const begin = localTime(zone, fromMs)
  const { months, days, hours, untilMidnight } = period
  const month = begin.month - 1 + months
  const lastDay = new Date(Date.UTC(begin.year, month + 1, 0)).getUTCDate()
  const date = new Date(Date.UTC(begin.year, month, Math.min(begin.day, lastDay) + days))
  const time = untilMidnight ? { hour: 0, minute: 0, second: 0 } : begin
  const end = instantOf(zone, {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    ...{ hour: time.hour, minute: time.minute, second: time.second },
  })
  return end + hours * 3_600_000
}

function counterOf(
  group: IncludedGroup,
  offer: HeldOffer,
  { fromMs, toMs }: Period,
  query: GroupQuery,
): CounterWanted {
  const isOwn = group.sharing === 'none'
  const owner: OwnerSlot = isOwn ? offer.slot : 1
  const serviceId = isOwn ? offer.serviceId : 0
  const counter = groupCounter({ holder: offer.name, serviceId, name: group.name })
  const total =
    group.total >= UNLIMITED_TOTAL ? group.total : group.total * sharesOf(group, offer, query)
  return { owner, counter, kind: group.kind, fromMs, toMs, total: Math.min(total, UNLIMITED_TOTAL) }
}

/** How often the group's amount is included. */
function sharesOf(group: IncludedGroup, offer: HeldOffer, query: GroupQuery): number {
  const { pool } = query.profile
  if (group.sharing !== 'pool' || pool === null) return group.isPerQuantity ? offer.quantity : 1
  return pool.reduce((sum, member) => sum + sharesOfMember(member, group, offer, query), 0)
}

function sharesOfMember(
  { plan, services }: PoolMember,
  group: IncludedGroup,
  offer: HeldOffer,
  { holdings, atMs }: GroupQuery,
): number {
  if (offer.kind === 'plan') return plan === offer.name ? 1 : 0
  let shares = 0
  // What comes with the plan comes to everybody who has the plan.
  if (plan === holdings.plan.name && holdings.plan.services.includes(offer.name)) shares += 1
  for (const { name, fromMs, toMs, quantity } of services) {
    if (name !== offer.name || atMs < fromMs || atMs >= toMs) continue
    shares += group.isPerQuantity ? quantity : 1
  }
  return shares
}
