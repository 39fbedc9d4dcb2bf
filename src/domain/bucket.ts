/**
 * Buckets and their owners. Credit is positive. Always: credited = spent + reserved + free.
 */
import { assert } from './assert.ts'

/** What a bucket holds: units of one usage type, money for one usage type, or money for any. */
export type BucketKind = 'units' | 'cost' | 'totalCost'

export interface Bucket {
  /** Unique within its owner, ascending. */
  id: number
  /** `external_id` of the prepaid include that defines it; 0 for a counter. */
  prepaidIncludeId: number
  kind: BucketKind
  /** The usage type it pays for; empty for `totalCost`. */
  usaget: string
  /** Higher pays first. */
  priority: number
  /** Validity [fromMs, toMs). */
  fromMs: number
  toMs: number
  /**
   * Units or micros, all integers. `free` may be negative down to -limit by a grant, below by
   * over-use.
   */
  credited: number
  spent: number
  reserved: number
  free: number
  /**
   * How far below zero a grant may go: 0 for prepaid; for a counter its total, or EMPTY_LIMIT if
   * that is nothing.
   */
  limit: number
  /**
   * Empty for prepaid credit. Else it counts what a cycle includes or owes, from 0 downwards:
   * `credit`, `group/HOLDER/SERVICE_ID/NAME` or `term/…` (counters.ts).
   */
  counter: string
}

/** Total of a counter that includes nothing (0 means: no counter). */
export const EMPTY_LIMIT = -1

/** What a grant may take of a bucket now. */
export function availableIn({ free, limit }: Bucket): number {
  return Math.max(0, free + Math.max(0, limit))
}

/** The subscriber, or (sid 0) the account for its shared buckets. */
export interface OwnerState {
  aid: number
  sid: number
  /** Grows by one with each commit; 0 before the first. */
  version: number
  /** Identifies the next bucket. */
  nextBucketId: number
  /** Over-use that no bucket could pay, in micros: ever incurred, and repaid by top-ups since. */
  owed: number
  repaid: number
  buckets: Bucket[]
}

/** Which of the two owners of a request: the subscriber, or its account's shared buckets. */
export type OwnerSlot = 0 | 1

/** A bucket of one of the two owners. */
export interface BucketRef {
  owner: OwnerSlot
  id: number
}

/** A bucket that may pay for a segment, and how. */
export interface FundingSource extends BucketRef {
  /** What it covers is included in what the subscriber holds, and no part of the price. */
  isGroup: boolean
  /** A limit of the account that what it pays also counts against. */
  limitCounter: BucketRef | null
}

export function emptyOwner(aid: number, sid: number): OwnerState {
  return { aid, sid, version: 0, nextBucketId: 1, owed: 0, repaid: 0, buckets: [] }
}

/** A copy whose buckets may be changed without touching the original. */
export function copyOwner(owner: OwnerState): OwnerState {
  return withBuckets(owner, owner.buckets.map(copyBucket))
}

/** The owner with other buckets, field by field: one shape for all owners. */
export function withBuckets(owner: OwnerState, buckets: Bucket[]): OwnerState {
  return {
    aid: owner.aid,
    sid: owner.sid,
    version: owner.version,
    nextBucketId: owner.nextBucketId,
    owed: owner.owed,
    repaid: owner.repaid,
    buckets,
  }
}

export function copyBucket(bucket: Bucket): Bucket {
  return {
    id: bucket.id,
    prepaidIncludeId: bucket.prepaidIncludeId,
    kind: bucket.kind,
    usaget: bucket.usaget,
    priority: bucket.priority,
    fromMs: bucket.fromMs,
    toMs: bucket.toMs,
    credited: bucket.credited,
    spent: bucket.spent,
    reserved: bucket.reserved,
    free: bucket.free,
    limit: bucket.limit,
    counter: bucket.counter,
  }
}

/** Whether settlement left an owner as it was, so that it need not be written. */
export function isUnchanged(before: OwnerState, after: OwnerState): boolean {
  if (before === after) return true
  if (before.owed !== after.owed || before.buckets.length !== after.buckets.length) return false
  return before.buckets.every((bucket, index) => {
    const other = after.buckets[index]
    return (
      bucket.id === other?.id &&
      bucket.free === other.free &&
      bucket.limit === other.limit &&
      bucket.reserved === other.reserved &&
      bucket.spent === other.spent &&
      bucket.credited === other.credited
    )
  })
}

/** Whether prepaid credit has ended by an instant; counters have no credit that could end. */
export function hasEnded({ counter, toMs }: Bucket, nowMs: number): boolean {
  return counter === '' && toMs <= nowMs
}

/** What is shown as free: nothing of what has ended, which has lapsed. */
export function freeAt(bucket: Bucket, nowMs: number): number {
  return hasEnded(bucket, nowMs) ? 0 : bucket.free
}

/** Asserts what must hold for every bucket at every commit. */
export function assertConserved(owner: OwnerState): void {
  for (const bucket of owner.buckets) {
    const sum = bucket.spent + bucket.reserved + bucket.free
    assert(
      sum === bucket.credited,
      `bucket ${bucket.id}: credited ${bucket.credited}, holds ${sum}`,
    )
    assert(bucket.spent >= 0 && bucket.reserved >= 0, `bucket ${bucket.id}: negative part`)
    assert(Number.isSafeInteger(bucket.credited), `bucket ${bucket.id}: unsafe amount`)
  }
  assert(owner.repaid >= 0 && owner.owed >= owner.repaid, 'repaid more than was owed')
}

/** Money still owed for over-use, in micros. */
export function debtOf(owner: OwnerState): number {
  return owner.owed - owner.repaid
}

/** Whether a prepaid bucket may pay for a usage. */
export type MayPay = (bucket: Bucket) => boolean

/**
 * The prepaid buckets that may pay at an instant, in the order of payment: higher priority, then
 * earliest end, then lower id, the subscriber's own before the account's (design.md §2).
 */
export function bucketOrder(
  subscriber: OwnerState,
  account: OwnerState | null,
  mayPay: MayPay,
  atMs: number,
): FundingSource[] {
  let count = collect(subscriber, 0, mayPay, atMs, 0)
  if (account !== null) count = collect(account, 1, mayPay, atMs, count)
  return sourcesFound.slice(0, count)
}

/** The prepaid buckets that have ended by an instant and might pay otherwise; the last last. */
export function endedOrder(
  subscriber: OwnerState,
  account: OwnerState | null,
  mayPay: MayPay,
  atMs: number,
): FundingSource[] {
  const found = [subscriber, account].flatMap((owner, index) =>
    (owner?.buckets ?? [])
      .filter((bucket) => bucket.counter === '' && bucket.toMs <= atMs && mayPay(bucket))
      .map(({ id, toMs }) => ({ toMs, source: prepaidSourceOf(index === 0 ? 0 : 1, id) })),
  )
  // Stable: of those that ended together the account's comes after the subscriber's.
  return found.sort((a, b) => a.toMs - b.toMs).map(({ source }) => source)
}

/** A bucket for any usage, or for this usage type. */
export function paysFor(usaget: string): MayPay {
  return (bucket) => bucket.kind === 'totalCost' || bucket.usaget === usaget
}

/** What `bucketOrder` has found so far, in order: kept, for growing arrays is most of its work. */
const sourcesFound: FundingSource[] = []
const bucketsFound: Bucket[] = []

/** Adds an owner's usable buckets to the `count` that were found; how many there are then. */
function collect(
  owner: OwnerState,
  slot: OwnerSlot,
  mayPay: MayPay,
  atMs: number,
  count: number,
): number {
  let end = count
  for (const bucket of owner.buckets) {
    if (bucket.counter !== '' || atMs < bucket.fromMs || atMs >= bucket.toMs) continue
    if (!mayPay(bucket)) continue
    let index = end
    while (index > 0 && compareBuckets(bucket, bucketsFound[index - 1] as Bucket) < 0) {
      bucketsFound[index] = bucketsFound[index - 1] as Bucket
      sourcesFound[index] = sourcesFound[index - 1] as FundingSource
      index -= 1
    }
    bucketsFound[index] = bucket
    sourcesFound[index] = prepaidSourceOf(slot, bucket.id)
    end += 1
  }
  return end
}

function compareBuckets(a: Bucket, b: Bucket): number {
  return b.priority - a.priority || a.toMs - b.toMs || a.id - b.id
}

/** Nearly all bucket ids are below this one: they have one payer for all owners. */
const SHARED_SOURCES = 64
const sharedSources = ([0, 1] as const).map((owner) =>
  Array.from({ length: SHARED_SOURCES }, (_, id) => prepaidSource(owner, id)),
)

/** A prepaid bucket as it pays. Never changed: many orders have the same. */
function prepaidSourceOf(owner: OwnerSlot, id: number): FundingSource {
  return sharedSources[owner]?.[id] ?? prepaidSource(owner, id)
}

function prepaidSource(owner: OwnerSlot, id: number): FundingSource {
  return { owner, id, isGroup: false, limitCounter: null }
}
