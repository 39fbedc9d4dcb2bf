/**
 * Balance operations: crediting and adjusting buckets. Pure; committed by the ledger's operations.
 */
import { present } from './assert.ts'
import { type Bucket, copyOwner, debtOf, type OwnerState } from './bucket.ts'
import type { PrepaidInclude } from './catalogue.ts'

/** The adjustment would take more than is free. */
export class InsufficientBalanceError extends Error {
  override name = 'InsufficientBalanceError'
}

/** The bucket would hold more than 2^53 units or micros. */
export class BalanceRangeError extends Error {
  override name = 'BalanceRangeError'
}

export interface Credit {
  include: PrepaidInclude
  /** Units or micros; negative takes away from what is free. */
  amount: number
  /** Validity of the bucket; an existing one is prolonged to `toMs`. */
  fromMs: number
  toMs: number
  /** `inc` adds to the bucket that is valid now, or makes one; `new` always makes one. */
  mode: 'inc' | 'new'
}

export interface CreditResult {
  owner: OwnerState
  bucket: Bucket
  /** Free before and after, units or micros; `repaid` went to debt. */
  before: number
  after: number
  repaid: number
}

/**
 * Pure. Money pays the subscriber's debt first. Throws `InsufficientBalanceError` or
 * `BalanceRangeError`.
 */
export function credit(state: OwnerState, operation: Credit, nowMs: number): CreditResult {
  const owner = copyOwner(state)
  const { include, amount } = operation
  const known = operation.mode === 'inc' ? findBucket(owner, include, nowMs) : undefined
  const bucket = known ?? openBucket(owner, operation)
  const before = bucket.free
  if (amount < 0 && bucket.free + amount < 0) {
    throw new InsufficientBalanceError(
      `bucket ${include.externalId} has ${bucket.free} free, less than ${-amount}`,
    )
  }
  if (!Number.isSafeInteger(totalCredited(owner) + amount)) {
    throw new BalanceRangeError(`bucket ${include.externalId} would exceed 2^53`)
  }
  bucket.credited += amount
  bucket.free += amount
  if (amount > 0) bucket.toMs = Math.max(bucket.toMs, operation.toMs)
  const payable = bucket.kind === 'units' ? 0 : Math.max(0, Math.min(amount, bucket.free))
  const repaid = Math.min(debtOf(owner), payable)
  bucket.free -= repaid
  bucket.spent += repaid
  owner.repaid += repaid
  owner.version += 1
  return { owner, bucket: present(bucket, 'bucket'), before, after: bucket.free, repaid }
}

/** The ledger checks the sum over an owner's buckets too, so that has to stay exact. */
function totalCredited(owner: OwnerState): number {
  return owner.buckets.reduce((sum, bucket) => sum + bucket.credited, 0)
}

/** A definition that has changed its kind gets a new bucket: its amounts mean something else. */
function findBucket(owner: OwnerState, include: PrepaidInclude, nowMs: number): Bucket | undefined {
  return owner.buckets.find(
    (bucket) =>
      bucket.counter === '' &&
      bucket.prepaidIncludeId === include.externalId &&
      bucket.kind === include.kind &&
      bucket.usaget === include.usaget &&
      nowMs >= bucket.fromMs &&
      nowMs < bucket.toMs,
  )
}

function openBucket(owner: OwnerState, { include, fromMs, toMs }: Credit): Bucket {
  const bucket: Bucket = {
    id: owner.nextBucketId,
    prepaidIncludeId: include.externalId,
    kind: include.kind,
    usaget: include.usaget,
    priority: include.priority,
    fromMs,
    toMs,
    credited: 0,
    spent: 0,
    reserved: 0,
    free: 0,
    limit: 0,
    counter: '',
  }
  owner.nextBucketId += 1
  owner.buckets.push(bucket)
  return bucket
}
