/**
 * Counters: buckets without credit that count what a cycle includes (groups of units or money) and
 * what a postpaid subscriber owes. They begin with the first event of their period, and are dropped
 * when the cycles that can still receive events have passed them; those of a period that is not the
 * billing cycle are kept longer, for usage that is reported late belongs to no other period.
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

/** Total of a counter that has no end: far beyond any use, and safe to add up. */
export const UNLIMITED_TOTAL = 2 ** 52

/** What a counter of a group counts. */
export interface GroupCounter {
  /** Plan or service that has the group. */
  holder: string
  /** 0 for a plan, and for a service that came with one. */
  serviceId: number
  name: string
}

export interface RequiredCounter {
  owner: OwnerSlot
  counter: string
  kind: BucketKind
  /** Its period [fromMs, toMs). */
  fromMs: number
  toMs: number
  /** Units or micros that it includes now. */
  total: number
}

export interface CounterOwners {
  subscriber: OwnerState
  account: OwnerState | null
}

/** `group` by billing cycle; `term` by a period that began with its service. */
const KINDS = ['group', 'term'] as const

export function groupCounter(
  { holder, serviceId, name }: GroupCounter,
  kind: (typeof KINDS)[number],
): string {
  return `${kind}/${holder}/${serviceId}/${name}`
}

export function isGroupCounter(counter: string): boolean {
  return KINDS.some((kind) => counter.startsWith(`${kind}/`))
}

/** Null for a counter that is no group's. */
export function parseGroupCounter(counter: string): GroupCounter | null {
  if (!isGroupCounter(counter)) return null
  const [, holder = '', serviceId, ...name] = counter.split('/')
  return { holder, serviceId: Number(serviceId), name: name.join('/') }
}

/**
 * Opens what is missing and brings totals up to date. Returns the owners and, in the order wanted,
 * the ids of the buckets. An owner that has everything as wanted is returned as it is.
 * `oldestMs`: begin of the oldest cycle that still receives events; counters before it are dropped.
 */
export function openCounters(
  owners: CounterOwners,
  wanted: readonly RequiredCounter[],
  oldestMs: number,
): { owners: CounterOwners; ids: number[] } {
  let { subscriber, account } = owners
  const ids: number[] = []
  for (const counter of wanted) {
    const before = counter.owner === 0 ? subscriber : (account ?? emptyOwner(subscriber.aid, 0))
    const { owner, id } = openCounter(before, counter, oldestMs)
    ids.push(id)
    if (counter.owner === 0) subscriber = owner
    else account = owner
  }
  return { owners: { subscriber, account }, ids }
}

function openCounter(
  owner: OwnerState,
  wanted: RequiredCounter,
  oldestMs: number,
): { owner: OwnerState; id: number } {
  const limit = wanted.total === 0 ? EMPTY_LIMIT : wanted.total
  const known = owner.buckets.find(
    ({ counter, fromMs }) => counter === wanted.counter && fromMs === wanted.fromMs,
  )
  if (known === undefined) {
    const id = owner.nextBucketId
    const kept = owner.buckets.filter((bucket) => !isPast(bucket, oldestMs))
    const opened = withBuckets(owner, [...kept, newCounter(id, wanted, limit)])
    opened.nextBucketId = id + 1
    return { owner: opened, id }
  }
  const { id } = known
  if (known.limit === limit && known.toMs === wanted.toMs) return { owner, id }
  const changed = copyBucket(known)
  changed.limit = limit
  changed.toMs = wanted.toMs
  const buckets = owner.buckets.map((bucket) => (bucket === known ? changed : bucket))
  return { owner: withBuckets(owner, buckets), id }
}

function isPast(bucket: Bucket, oldestMs: number): boolean {
  return bucket.reserved === 0 && isClosed(bucket, oldestMs)
}

/** How long after the oldest open cycle began the counter of a period of its own is still kept. */
const TERM_RETENTION_MS = 93 * 86_400_000

/** Whether a counter receives no events any more; credit that is not counted is never closed. */
export function isClosed(
  { counter, toMs }: Pick<Bucket, 'counter' | 'toMs'>,
  oldestMs: number,
): boolean {
  if (counter === '') return false
  return toMs <= (counter.startsWith('term/') ? oldestMs - TERM_RETENTION_MS : oldestMs)
}

function newCounter(id: number, wanted: RequiredCounter, limit: number): Bucket {
  const { counter, kind, fromMs, toMs } = wanted
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
