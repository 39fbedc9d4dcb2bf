/** Buckets and their owners. Credit is positive. Invariant: credited = spent + reserved + free. */
import { assert, InvariantError } from './assert.ts'

/** The content of a bucket: units of one usage type, money for one usage type, or money for any. */
export type BucketKind = 'units' | 'cost' | 'totalCost'

export interface Bucket {
  /** Unique within its owner, ascending. */
  id: number
  /** `external_id` of the prepaid include that defines it; 0 for a counter. */
  prepaidIncludeId: number
  kind: BucketKind
  /** Usage type that the bucket pays for; empty for `totalCost`. */
  usaget: string
  /** Higher pays first. */
  priority: number
  /** Validity [fromMs, toMs). */
  fromMs: number
  toMs: number
  /**
   * Units or micros, all integers. `free` is the available amount. A grant may lower it to -limit,
   * overuse below that.
   */
  credited: number
  spent: number
  reserved: number
  free: number
  /**
   * How far below zero a grant may go: 0 for prepaid credit; for a counter its total, or
   * EMPTY_LIMIT if its total is 0.
   */
  limit: number
  /**
   * Empty for prepaid credit. Otherwise the bucket counts included usage or the debt of a cycle,
   * from 0 downwards: `credit`, `group/HOLDER/SERVICE_ID/NAME` or `term/…`; or it counts usage that
   * it does not pay, `total/USAGET/MEASURE` (counters.ts).
   */
  counter: string
}

/**
 * Limit of a counter whose total is 0, because a limit of 0 means that the bucket is not a counter.
 */
export const EMPTY_LIMIT = -1

/** The amount of a bucket that a grant may reserve now. */
export function availableIn({ free, limit }: Bucket): number {
  return Math.max(0, free + Math.max(0, limit))
}

/** A subscriber, or (sid 0) an account with its shared buckets. */
export interface OwnerState {
  aid: number
  sid: number
  /** Incremented by each commit; 0 before the first. */
  version: number
  /** Id of the next bucket. */
  nextBucketId: number
  /**
   * Debt in micros, that is, overuse that no bucket could pay: the total ever incurred, and the
   * part repaid by top-ups since.
   */
  owed: number
  repaid: number
  buckets: Bucket[]
}

/** Position of an owner in a request: 0 is the subscriber, 1 is its account. */
export type OwnerSlot = 0 | 1

/** A bucket of one of the two owners. */
export interface BucketRef {
  owner: OwnerSlot
  id: number
}

/** A bucket or counter that may pay for a segment. */
export interface FundingSource extends BucketRef {
  /**
   * Whether it is a group: units that it pays are included in an active product, not part of the
   * price.
   */
  isGroup: boolean
  /** Counter of an account limit against which its payments count as well. */
  limitCounter: BucketRef | null
}

export function emptyOwner(aid: number, sid: number): OwnerState {
  return { aid, sid, version: 0, nextBucketId: 1, owed: 0, repaid: 0, buckets: [] }
}

/** A copy whose buckets may be changed without touching the original. */
export function copyOwner(owner: OwnerState): OwnerState {
  return withBuckets(owner, owner.buckets.map(copyBucket))
}

/** A copy with other buckets. Field by field, so that all owners have one hidden class. */
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

/** Whether settlement left an owner unchanged, so that it need not be written. */
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

/** Whether prepaid credit has expired at an instant. Counters hold no credit that could expire. */
export function hasEnded({ counter, toMs }: Bucket, nowMs: number): boolean {
  return counter === '' && toMs <= nowMs
}

/**
 * The available amount as reported to clients: 0 once the bucket has expired, since the rest is
 * forfeited.
 */
export function freeAt(bucket: Bucket, nowMs: number): number {
  return hasEnded(bucket, nowMs) ? 0 : bucket.free
}

/** Asserts the invariants that hold for every bucket at every commit. */
export function assertConserved(owner: OwnerState): void {
  // Messages are made on failure only: making them would take longer than the comparisons.
  for (const { id, credited, spent, reserved, free } of owner.buckets) {
    const sum = spent + reserved + free
    if (sum !== credited) {
      throw new InvariantError(`bucket ${id}: credited ${credited}, holds ${sum}`)
    }
    if (!(spent >= 0 && reserved >= 0)) {
      throw new InvariantError(`bucket ${id}: spent or reserved is negative`)
    }
    if (!Number.isSafeInteger(credited)) throw new InvariantError(`bucket ${id}: unsafe amount`)
  }
  assert(owner.repaid >= 0 && owner.owed >= owner.repaid, 'repaid more than was owed')
}

/** Outstanding debt for overuse, in micros. */
export function debtOf(owner: OwnerState): number {
  return owner.owed - owner.repaid
}

/** Whether a prepaid bucket may pay for a usage. */
export type MayPay = (bucket: Bucket) => boolean

/**
 * Whether a bucket is valid at an instant. `begunMs`: by when it must have begun, because the clock
 * of the instant may be behind the one by which the bucket was loaded.
 */
export function isValidAt({ fromMs, toMs }: Bucket, atMs: number, begunMs = atMs): boolean {
  return fromMs <= begunMs && atMs < toMs
}

/**
 * The prepaid buckets that may pay at an instant, in order of payment: higher priority, then
 * earliest end, then lower id, those of the subscriber before those of the account. `begunMs`: see
 * `isValidAt`.
 */
export function bucketOrder(
  subscriber: OwnerState,
  account: OwnerState | null,
  mayPay: MayPay,
  atMs: number,
  begunMs = atMs,
): FundingSource[] {
  let count = collect(subscriber, 0, mayPay, atMs, begunMs, 0)
  if (account !== null) count = collect(account, 1, mayPay, atMs, begunMs, count)
  return sourcesFound.slice(0, count)
}

/**
 * The prepaid buckets that have expired at an instant and could pay otherwise, by time of expiry.
 */
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
  // The sort is stable: of buckets that expired together, the account's comes after the
  // subscriber's.
  return found.sort((a, b) => a.toMs - b.toMs).map(({ source }) => source)
}

/** Selects buckets for any usage or for this usage type. */
export function paysFor(usaget: string): MayPay {
  return (bucket) => bucket.kind === 'totalCost' || bucket.usaget === usaget
}

/**
 * Result of the current `bucketOrder` call, in order. Reused, because growing arrays is most of its
 * cost.
 */
const sourcesFound: FundingSource[] = []
const bucketsFound: Bucket[] = []

/** Adds the usable buckets of an owner to the `count` found so far. Returns the new count. */
function collect(
  owner: OwnerState,
  slot: OwnerSlot,
  mayPay: MayPay,
  atMs: number,
  begunMs: number,
  count: number,
): number {
  let end = count
  for (const bucket of owner.buckets) {
    if (bucket.counter !== '' || !isValidAt(bucket, atMs, begunMs)) continue
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

/**
 * Nearly all bucket ids are below this number; their funding sources are shared between all owners.
 */
const SHARED_SOURCES = 64
const sharedSources = ([0, 1] as const).map((owner) =>
  Array.from({ length: SHARED_SOURCES }, (_, id) => prepaidSource(owner, id)),
)

/** A prepaid bucket as a funding source. Never changed, because it is shared. */
function prepaidSourceOf(owner: OwnerSlot, id: number): FundingSource {
  return sharedSources[owner]?.[id] ?? prepaidSource(owner, id)
}

function prepaidSource(owner: OwnerSlot, id: number): FundingSource {
  return { owner, id, isGroup: false, limitCounter: null }
}
