/**
 * Buckets and their owners. Credit is positive. Always: credited = spent + reserved + free.
 */
import { assert } from './assert.ts'

/** What a bucket holds: units of one usage type, money for one usage type, or money for any. */
export type BucketKind = 'units' | 'cost' | 'totalCost'

export interface Bucket {
  /** Unique within its owner, ascending. */
  id: number
  /** `external_id` of the prepaid include that defines it. */
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
  /** How far below zero a grant may go (postpaid credit); 0 for prepaid. */
  limit: number
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

export function emptyOwner(aid: number, sid: number): OwnerState {
  return { aid, sid, version: 0, nextBucketId: 1, owed: 0, repaid: 0, buckets: [] }
}

/** A copy whose buckets may be changed without touching the original. */
export function copyOwner(owner: OwnerState): OwnerState {
  return { ...owner, buckets: owner.buckets.map((bucket) => ({ ...bucket })) }
}

/** Whether settlement left an owner as it was, so that it need not be written. */
export function isUnchanged(before: OwnerState, after: OwnerState): boolean {
  if (before === after) return true
  if (before.owed !== after.owed || before.buckets.length !== after.buckets.length) return false
  return before.buckets.every((bucket, index) => {
    const other = after.buckets[index]
    return (
      bucket.free === other?.free &&
      bucket.reserved === other.reserved &&
      bucket.spent === other.spent &&
      bucket.credited === other.credited
    )
  })
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

/**
 * The buckets that may pay for a usage type at an instant, in the order of payment: higher
 * priority, then earliest end, then lower id, the subscriber's own before the account's (design.md
 * §2).
 */
export function bucketOrder(
  subscriber: OwnerState,
  account: OwnerState | null,
  usaget: string,
  atMs: number,
): BucketRef[] {
  const usable: { ref: BucketRef; bucket: Bucket }[] = []
  collect(subscriber, 0, usaget, atMs, usable)
  if (account !== null) collect(account, 1, usaget, atMs, usable)
  if (usable.length > 1) usable.sort((a, b) => compareBuckets(a.bucket, b.bucket))
  return usable.map((entry) => entry.ref)
}

function collect(
  owner: OwnerState,
  slot: OwnerSlot,
  usaget: string,
  atMs: number,
  into: { ref: BucketRef; bucket: Bucket }[],
): void {
  for (const bucket of owner.buckets) {
    if (bucket.kind !== 'totalCost' && bucket.usaget !== usaget) continue
    if (atMs < bucket.fromMs || atMs >= bucket.toMs) continue
    into.push({ ref: { owner: slot, id: bucket.id }, bucket })
  }
}

function compareBuckets(a: Bucket, b: Bucket): number {
  return b.priority - a.priority || a.toMs - b.toMs || a.id - b.id
}
