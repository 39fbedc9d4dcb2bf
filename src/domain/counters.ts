/**
 * Counters: buckets without credit that count included usage of a cycle (groups of units or money)
 * and the debt of a postpaid subscriber. They are opened by the first event of their period, and
 * dropped once only later cycles can receive events. Counters of a period that is not the billing
 * cycle are kept longer, because usage reported late belongs to no other period.
 */
import {
  type Bucket,
  type BucketKind,
  copyBucket,
  EMPTY_LIMIT,
  emptyOwner,
  type OwnerSlot,
  type OwnerState,
  withBuckets,
} from './bucket.ts'

/** The counter of postpaid credit. */
export const CREDIT = 'credit'

/** Total of an unlimited counter: far beyond any usage, and safe to add up. */
export const UNLIMITED_TOTAL = 2 ** 52

/** The group of a counter. */
export interface GroupCounter {
  /** Plan or service with the group. */
  holder: string
  /** 0 for a plan, and for a service that the plan includes. */
  serviceId: number
  name: string
}

export interface RequiredCounter {
  owner: OwnerSlot
  counter: string
  kind: BucketKind
  /** Period [fromMs, toMs). */
  fromMs: number
  toMs: number
  /** Included units or micros. */
  total: number
}

export interface CounterOwners {
  subscriber: OwnerState
  account: OwnerState | null
}

/** `group`: by billing cycle. `term`: by a period that begins with the service. */
const KINDS = ['group', 'term'] as const

export function groupCounter(
  { holder, serviceId, name }: GroupCounter,
  kind: (typeof KINDS)[number],
): string {
  return `${kind}/${holder}/${serviceId}/${name}`
}

/** Counter of usage of a cycle for rules of notifications (events/usage-totals.ts). */
export function usageTotal(usaget: string, measure: string): string {
  return `total/${usaget}/${measure}`
}

/**
 * The usage type and measure of a counter of `usageTotal`; null if it is another one. Nothing is
 * paid from it, so that it is not in the payments of lines.
 */
export function parseUsageTotal(counter: string): { usaget: string; measure: string } | null {
  const [kind, usaget, measure] = counter.split('/')
  if (kind !== 'total' || usaget === undefined || measure === undefined) return null
  return { usaget, measure }
}

export function isGroupCounter(counter: string): boolean {
  return KINDS.some((kind) => counter.startsWith(`${kind}/`))
}

/** Null if the counter does not belong to a group. */
export function parseGroupCounter(counter: string): GroupCounter | null {
  if (!isGroupCounter(counter)) return null
  const [, holder = '', serviceId, ...name] = counter.split('/')
  return { holder, serviceId: Number(serviceId), name: name.join('/') }
}

/**
 * Opens missing counters and updates totals. Returns the owners, and the ids of the buckets in the
 * order of `required`. An owner without changes is returned as it is. `oldestMs`: start of the
 * oldest cycle that still receives events; counters before it are dropped.
 */
export function openCounters(
  owners: CounterOwners,
  required: readonly RequiredCounter[],
  oldestMs: number,
): { owners: CounterOwners; ids: number[] } {
  let { subscriber, account } = owners
  const ids: number[] = []
  for (const counter of required) {
    const before = counter.owner === 0 ? subscriber : (account ?? emptyOwner(subscriber.aid, 0))
    const { owner, id } = openCounter(before, counter, oldestMs)
    ids.push(id)
    if (counter.owner === 0) subscriber = owner
    else account = owner
  }
  return { owners: { subscriber, account }, ids }
}

/** The limit of the bucket of a counter. */
export function limitOf(total: number): number {
  return total === 0 ? EMPTY_LIMIT : total
}

function openCounter(
  owner: OwnerState,
  required: RequiredCounter,
  oldestMs: number,
): { owner: OwnerState; id: number } {
  const limit = limitOf(required.total)
  const known = owner.buckets.find(
    ({ counter, fromMs }) => counter === required.counter && fromMs === required.fromMs,
  )
  if (known === undefined) {
    const id = owner.nextBucketId
    const kept = owner.buckets.filter((bucket) => !isPast(bucket, oldestMs))
    const opened = withBuckets(owner, [...kept, newCounter(id, required, limit)])
    opened.nextBucketId = id + 1
    return { owner: opened, id }
  }
  const { id } = known
  if (known.limit === limit && known.toMs === required.toMs) return { owner, id }
  const changed = copyBucket(known)
  changed.limit = limit
  changed.toMs = required.toMs
  const buckets = owner.buckets.map((bucket) => (bucket === known ? changed : bucket))
  return { owner: withBuckets(owner, buckets), id }
}

function isPast(bucket: Bucket, oldestMs: number): boolean {
  return bucket.reserved === 0 && isClosed(bucket, oldestMs)
}

/**
 * How long after the start of the oldest open cycle a counter of a service's own period is kept.
 */
const TERM_RETENTION_MS = 93 * 86_400_000

/** Whether a counter no longer receives events; buckets of credit are never closed. */
export function isClosed(
  { counter, toMs }: Pick<Bucket, 'counter' | 'toMs'>,
  oldestMs: number,
): boolean {
  if (counter === '') return false
  return toMs <= (counter.startsWith('term/') ? oldestMs - TERM_RETENTION_MS : oldestMs)
}

function newCounter(id: number, required: RequiredCounter, limit: number): Bucket {
  const { counter, kind, fromMs, toMs } = required
  return {
    id,
    prepaidIncludeId: 0,
    kind,
    usaget: '',
    priority: 0,
    fromMs,
    toMs,
    credited: 0,
    spent: 0,
    reserved: 0,
    free: 0,
    limit,
    counter,
  }
}
