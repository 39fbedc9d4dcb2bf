/** On which days of a cycle an account and its subscribers are eligible for a discount. Pure. */
import {
  type AdjustmentTerms,
  type Alternative,
  dateMsOf,
  type FieldCondition,
  type SubscriberCondition,
} from '../../../catalog/compile/discount.ts'
import { type Fields, isObject } from '../../../domain/fields.ts'
import { daysIn, FOREVER_MS, instantOf, localTime } from '../../../domain/time.ts'
import type { CycleSpan, Span } from '../lines.ts'
import { daysMet } from './conditions.ts'
import {
  allDays,
  contains,
  type DaySet,
  daysOf,
  difference,
  intersection,
  NO_DAYS,
  union,
} from './days.ts'

/** A revision of an account or subscriber; `span` is its validity. */
export interface HolderRevision {
  readonly span: Span
  readonly document: Fields
}

export interface DiscountedSubscriber {
  readonly sid: number
  /** Sorted by start. */
  readonly revisions: readonly HolderRevision[]
  /** Services that its plans include in a cycle, as entries of `services`; none if absent. */
  includedIn?(cycle: CycleSpan): readonly Fields[]
}

export interface DiscountHolders {
  /** Revisions of the account, sorted by start. */
  readonly account: readonly HolderRevision[]
  readonly subscribers: readonly DiscountedSubscriber[]
}

/** Days by key of a plan or service. */
export type DaysByKey = ReadonlyMap<string, DaySet>

export interface Eligibility {
  /** Days of the account as such: of conditions that name no subscriber. */
  readonly account: DaySet
  /** Days by `sid`. */
  readonly subscribers: ReadonlyMap<number, DaySet>
  /** Plans and services that the conditions name, by `sid`. */
  readonly plans: ReadonlyMap<number, DaysByKey>
  readonly services: ReadonlyMap<number, DaysByKey>
}

export const NOT_ELIGIBLE: Eligibility = {
  account: NO_DAYS,
  subscribers: new Map(),
  plans: new Map(),
  services: new Map(),
}

/** The subscriber's part of an eligibility. */
interface Share {
  readonly days: DaySet
  readonly plans: DaysByKey
  readonly services: DaysByKey
}

const EVERYBODY: Alternative = { account: [], accountServices: [], subscribers: [] }

export function eligibilityOf(
  terms: AdjustmentTerms,
  holders: DiscountHolders,
  cycle: CycleSpan,
): Eligibility {
  const valid = daysOf({ startMs: terms.fromMs, endMs: terms.toMs }, cycle)
  if (valid.length === 0) return NOT_ELIGIBLE
  const alternatives = terms.alternatives.length === 0 ? [EVERYBODY] : terms.alternatives
  const all = alternatives.map((one) => ofAlternative(one, terms, holders, cycle))
  return within(all.length === 1 ? (all[0] as Eligibility) : joined(all), () => valid)
}

/** The days of each subscriber, and of the account (sid 0), that `kept` contains. */
export function within(eligibility: Eligibility, kept: (sid: number) => DaySet): Eligibility {
  const cut = (maps: ReadonlyMap<number, DaysByKey>) =>
    mapOf(maps, (sid, byKey) => mapOf(byKey, (_, days) => intersection(days, kept(sid))))
  return {
    account: intersection(eligibility.account, kept(0)),
    subscribers: mapOf(eligibility.subscribers, (sid, days) => intersection(days, kept(sid))),
    plans: cut(eligibility.plans),
    services: cut(eligibility.services),
  }
}

/** Removes the days on which another discount excludes it. */
export function without(eligibility: Eligibility, other: Eligibility, cycle: CycleSpan) {
  const all = allDays(cycle)
  return within(eligibility, (sid) => {
    const days = sid === 0 ? other.account : (other.subscribers.get(sid) ?? NO_DAYS)
    return difference(all, days)
  })
}

export function joined(all: readonly Eligibility[]): Eligibility {
  return {
    account: union(...all.map(({ account }) => account)),
    subscribers: joinedDays(all.map(({ subscribers }) => subscribers)),
    plans: joinedKeys(all.map(({ plans }) => plans)),
    services: joinedKeys(all.map(({ services }) => services)),
  }
}

function joinedDays<Key>(maps: readonly ReadonlyMap<Key, DaySet>[]): ReadonlyMap<Key, DaySet> {
  const result = new Map<Key, DaySet>()
  for (const map of maps) {
    for (const [key, days] of map) result.set(key, union(result.get(key) ?? NO_DAYS, days))
  }
  return result
}

function joinedKeys(
  maps: readonly ReadonlyMap<number, DaysByKey>[],
): ReadonlyMap<number, DaysByKey> {
  const result = new Map<number, DaysByKey>()
  for (const map of maps) {
    for (const [sid, byKey] of map)
      result.set(sid, joinedDays([result.get(sid) ?? new Map(), byKey]))
  }
  return result
}

/** Drops entries that become empty. */
function mapOf<Key, Value extends DaySet | DaysByKey>(
  map: ReadonlyMap<Key, Value>,
  change: (key: Key, value: Value) => Value,
): ReadonlyMap<Key, Value> {
  const result = new Map<Key, Value>()
  for (const [key, value] of map) {
    const changed = change(key, value)
    const isEmpty = 'size' in changed ? changed.size === 0 : changed.length === 0
    if (!isEmpty) result.set(key, changed)
  }
  return result
}

function ofAlternative(
  alternative: Alternative,
  terms: AdjustmentTerms,
  holders: DiscountHolders,
  cycle: CycleSpan,
): Eligibility {
  const account = accountDays(alternative, holders.account, cycle)
  if (account.length === 0) return NOT_ELIGIBLE
  const hasCondition = alternative.subscribers.length > 0
  const shares = new Map<number, Share>()
  for (const subscriber of holders.subscribers) {
    const { sid, revisions } = subscriber
    const share = hasCondition
      ? conditionShare(alternative.subscribers, subscriber, terms, cycle)
      : { days: activeDays(revisions, terms, cycle), plans: new Map(), services: new Map() }
    if (share.days.length > 0) shares.set(sid, share)
  }
  const counted = countedDays(account, shares, terms, hasCondition ? 1 : 0)
  const pick = <T>(part: (share: Share) => T) =>
    new Map([...shares].map(([sid, share]) => [sid, part(share)]))
  const whole: Eligibility = {
    account: hasCondition ? NO_DAYS : counted,
    subscribers: pick(({ days }) => days),
    plans: pick(({ plans }) => plans),
    services: pick(({ services }) => services),
  }
  return within(whole, () => counted)
}

function accountDays(
  { account, accountServices }: Alternative,
  revisions: readonly HolderRevision[],
  cycle: CycleSpan,
): DaySet {
  if (account.length + accountServices.length === 0) return allDays(cycle)
  const met = revisions.map(({ span, document }) =>
    intersection(daysOf(span, cycle), daysMet(account, document, cycle)),
  )
  const services = servicesMet(accountServices, revisions, [], cycle, () => FOREVER_MS)
  return intersection(union(...met), services.days)
}

/** Days of the account on which as many subscribers are eligible as are asked for. */
function countedDays(
  account: DaySet,
  shares: ReadonlyMap<number, Share>,
  { minSubscribers, maxSubscribers }: AdjustmentTerms,
  leastByDefault: number,
): DaySet {
  const least = minSubscribers ?? leastByDefault
  if (least === 0 && maxSubscribers === null) return account
  const all = [...shares.values()].map(({ days }) => days)
  if (least === 1 && maxSubscribers === null) return intersection(account, union(...all))
  const most = maxSubscribers ?? Number.POSITIVE_INFINITY
  const kept: DaySet[] = []
  for (const { from, to } of account) {
    for (let day = from; day < to; day += 1) {
      const count = all.filter((days) => contains(days, day)).length
      if (count >= least && count <= most) kept.push([{ from: day, to: day + 1 }])
    }
  }
  return union(...kept)
}

/** Days of a subscriber without a condition on it. */
function activeDays(
  revisions: readonly HolderRevision[],
  { cycles }: AdjustmentTerms,
  cycle: CycleSpan,
): DaySet {
  return union(
    ...revisions.map((revision) => {
      const endMs = planEndMs(revision, revisions, cycles, cycle)
      return daysOf({ ...revision.span, endMs: Math.min(revision.span.endMs, endMs) }, cycle)
    }),
  )
}

function conditionShare(
  conditions: readonly SubscriberCondition[],
  subscriber: DiscountedSubscriber,
  terms: AdjustmentTerms,
  cycle: CycleSpan,
): Share {
  const shares = conditions.map((condition) => shareOf(condition, subscriber, terms, cycle))
  if (shares.length === 1) return shares[0] as Share
  return {
    days: union(...shares.map(({ days }) => days)),
    plans: joinedDays(shares.map(({ plans }) => plans)),
    services: joinedDays(shares.map(({ services }) => services)),
  }
}

function shareOf(
  { fields, services, isOnPlan }: SubscriberCondition,
  subscriber: DiscountedSubscriber,
  { cycles }: AdjustmentTerms,
  cycle: CycleSpan,
): Share {
  const { revisions } = subscriber
  const hasServices = services.length > 0
  const plans = new Map<string, DaySet>()
  const met: DaySet[] = []
  for (const revision of revisions) {
    const { span, document } = revision
    // With conditions on services, their months count.
    const planMs = hasServices ? FOREVER_MS : planEndMs(revision, revisions, cycles, cycle)
    const valid = daysOf({ ...span, endMs: Math.min(span.endMs, planMs) }, cycle)
    const days = valid.length === 0 ? NO_DAYS : daysMet(fields, document, cycle)
    const both = intersection(valid, days)
    met.push(both)
    const plan = String(document['plan'] ?? '')
    if (isOnPlan) plans.set(plan, union(plans.get(plan) ?? NO_DAYS, both))
  }
  const own = union(...met)
  if (!hasServices || own.length === 0) return { days: own, plans, services: new Map() }
  const included = subscriber.includedIn?.(cycle) ?? []
  const matched = servicesMet(services, revisions, included, cycle, (entry, revision) => {
    const serviceMs = monthsAfter(serviceStartMs(entry, revision, cycle), cycles, cycle)
    // With conditions on both, the later end counts.
    const planMs = isOnPlan ? planEndMs(revision, revisions, cycles, cycle) : serviceMs
    return Math.max(serviceMs, planMs)
  })
  const days = intersection(own, matched.days)
  const cut = (map: DaysByKey) => mapOf(map, (_, each) => intersection(each, days))
  return { days, plans: cut(plans), services: cut(matched.services) }
}

/**
 * Days on which, for each of the conditions, some service meets it; and those services. `included`:
 * services in addition to those that the revisions have.
 */
function servicesMet(
  conditions: readonly (readonly FieldCondition[])[],
  revisions: readonly HolderRevision[],
  included: readonly Fields[],
  cycle: CycleSpan,
  endMsOf: (entry: Fields, revision: HolderRevision) => number,
): { readonly days: DaySet; readonly services: DaysByKey } {
  let days: DaySet = allDays(cycle)
  const services = new Map<string, DaySet>()
  for (const condition of conditions) {
    const met: DaySet[] = []
    for (const revision of revisions) {
      for (const entry of [...servicesOf(revision.document), ...included]) {
        const both = intersection(
          entryDays(entry, revision, endMsOf(entry, revision), cycle),
          daysMet(condition, entry, cycle),
        )
        if (both.length === 0) continue
        const name = String(entry['name'])
        met.push(both)
        services.set(name, union(services.get(name) ?? NO_DAYS, both))
      }
    }
    days = intersection(days, union(...met))
  }
  return { days, services }
}

function servicesOf({ services }: Fields): readonly Fields[] {
  if (!Array.isArray(services)) return []
  return services.flatMap((entry: unknown) => {
    if (typeof entry === 'string') return [{ name: entry }]
    return isObject(entry) ? [entry] : []
  })
}

function entryDays(
  { from, to }: Fields,
  { span }: HolderRevision,
  endMs: number,
  cycle: CycleSpan,
): DaySet {
  return daysOf(
    {
      startMs: Math.max(span.startMs, dateMsOf(from, cycle.zone) ?? span.startMs),
      endMs: Math.min(span.endMs, endMs, dateMsOf(to, cycle.zone) ?? FOREVER_MS),
    },
    cycle,
  )
}

function serviceStartMs(entry: Fields, { span }: HolderRevision, { zone }: CycleSpan): number {
  const { service_activation: activation, from } = entry
  return dateMsOf(activation, zone) ?? dateMsOf(from, zone) ?? span.startMs
}

/** End of `cycles` months since the activation of the plan. */
function planEndMs(
  revision: HolderRevision,
  revisions: readonly HolderRevision[],
  cycles: number | null,
  cycle: CycleSpan,
): number {
  if (cycles === null) return FOREVER_MS
  const date = dateMsOf(revision.document['plan_activation'], cycle.zone)
  return monthsAfter(date ?? planStartMs(revision, revisions), cycles, cycle)
}

/** Start of the first of the contiguous revisions with the same plan. */
function planStartMs(revision: HolderRevision, revisions: readonly HolderRevision[]): number {
  let first = revision
  for (const other of revisions.toReversed()) {
    const isBefore = other.span.endMs === first.span.startMs
    if (isBefore && other.document['plan'] === first.document['plan']) first = other
  }
  return first.span.startMs
}

/** The same day and time, or the last day of a shorter month. */
function monthsAfter(atMs: number, months: number | null, { zone }: CycleSpan): number {
  if (months === null) return FOREVER_MS
  const local = localTime(zone, atMs)
  const index = local.year * 12 + local.month - 1 + months
  const [year, month] = [Math.floor(index / 12), (index % 12) + 1]
  return instantOf(zone, { ...local, year, month, day: Math.min(local.day, daysIn(year, month)) })
}
