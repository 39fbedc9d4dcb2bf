/**
 * Balance operations: crediting and adjusting buckets. Pure; committed by the ledger's operations.
 */
import { type Bucket, copyOwner, debtOf, type OwnerState } from './bucket.ts'
import type { PrepaidInclude } from './catalogue.ts'

/** Why an operation cannot be done on a balance as it stands: nothing has moved. */
export class BalanceRefusal extends Error {
  override name = 'BalanceRefusal'
}

/** The adjustment would take more than is free. */
export class InsufficientBalanceError extends BalanceRefusal {
  override name = 'InsufficientBalanceError'
}

/** The bucket would hold more than 2^53 units or micros. */
export class BalanceRangeError extends BalanceRefusal {
  override name = 'BalanceRangeError'
}

/** The bucket is not there, or was closed. */
export class UnknownBucketError extends BalanceRefusal {
  override name = 'UnknownBucketError'
}

/** The bucket is a counter: it counts usage, and holds no credit. */
export class NotCreditError extends BalanceRefusal {
  override name = 'NotCreditError'
}

/** What of its definition a credit needs. */
export type CreditedInclude = Pick<
  PrepaidInclude,
  'externalId' | 'kind' | 'usaget' | 'priority' | 'unlimited'
>

export interface Credit {
  include: CreditedInclude
  /**
   * Units or micros. `inc` and `new`: how much is added, negative takes away from what is free;
   * `set`: what is free afterwards.
   */
  amount: number
  /** Validity of the bucket; an existing one is prolonged to `toMs`. */
  fromMs: number
  toMs: number
  /** `inc` and `set` take the bucket that is valid now, or make one; `new` always makes one. */
  mode: 'inc' | 'new' | 'set'
  /** This bucket, valid or not, and no other. */
  bucketId?: number
  /** A credit never makes more free than this, unless the definition is unlimited. */
  freeMax?: number
}

export interface CreditResult {
  owner: OwnerState
  bucket: Bucket
  /** What was credited, units or micros: of `set` the difference. */
  amount: number
  /** Free before and after, units or micros; `repaid` went to debt. */
  before: number
  after: number
  repaid: number
  /** By how much less was credited than asked for, because of `freeMax`. */
  normalized: number
}

/**
 * Pure. Money that is added pays the debt of its owner first (debt.ts); `set` leaves debt alone, so
 * that what is free is what was asked for. Throws a `BalanceRefusal`.
 */
export function credit(state: OwnerState, operation: Credit, nowMs: number): CreditResult {
  const owner = copyOwner(state)
  const bucket = bucketFor(owner, operation, nowMs)
  const before = bucket.free
  const { amount, normalized } = decide(owner, bucket, operation)
  if (bucket.free + amount < 0 && amount < 0) {
    const { externalId } = operation.include
    throw new InsufficientBalanceError(
      `bucket ${externalId} has ${bucket.free} free, less than ${-amount}`,
    )
  }
  const repaid = operation.mode === 'set' ? 0 : repayable(owner, bucket, amount)
  addCredit(owner, bucket, amount, repaid)
  if (amount >= 0 || operation.mode === 'set') bucket.toMs = Math.max(bucket.toMs, operation.toMs)
  owner.version += 1
  return { owner, bucket, amount, before, after: bucket.free, repaid, normalized }
}

/** How much is credited, and how much of what was asked for is not. */
function decide(
  owner: OwnerState,
  bucket: Bucket,
  { mode, amount, include, freeMax }: Credit,
): { amount: number; normalized: number } {
  const most = include.unlimited || freeMax === undefined ? Number.POSITIVE_INFINITY : freeMax
  if (mode === 'set') {
    if (amount < 0) throw new InsufficientBalanceError('a balance cannot be set below nothing')
    const target = Math.min(amount, most)
    return { amount: target - bucket.free, normalized: amount - target }
  }
  // What repays debt does not make more free.
  const added = amount - repayable(owner, bucket, amount)
  const normalized = Math.max(0, Math.min(bucket.free + added - most, added))
  return { amount: amount - normalized, normalized }
}

/** Debt that so much more money in a bucket pays. */
export function repayable(owner: OwnerState, bucket: Bucket, amount: number): number {
  if (bucket.kind === 'units') return 0
  return Math.min(debtOf(owner), Math.max(0, Math.min(amount, bucket.free + amount)))
}

/** Changes the owner and its bucket, `repaid` of the amount being spent. */
export function addCredit(owner: OwnerState, bucket: Bucket, amount: number, repaid: number): void {
  if (!Number.isSafeInteger(totalCredited(owner) + amount)) {
    throw new BalanceRangeError(`bucket ${bucket.prepaidIncludeId} would exceed 2^53`)
  }
  bucket.credited += amount
  bucket.free += amount - repaid
  bucket.spent += repaid
  owner.repaid += repaid
}

/** The ledger checks the sum over an owner's buckets too, so that has to stay exact. */
function totalCredited(owner: OwnerState): number {
  return owner.buckets.reduce((sum, bucket) => sum + bucket.credited, 0)
}

/** The bucket that is meant, of the copy; a new one if there is none. */
function bucketFor(owner: OwnerState, operation: Credit, nowMs: number): Bucket {
  const { mode, include, bucketId, fromMs, toMs } = operation
  if (bucketId !== undefined) return creditBucketOf(owner, bucketId)
  const known = mode === 'new' ? undefined : findBucket(owner, include, nowMs)
  const { externalId, kind, usaget, priority } = include
  return (
    known ??
    openBucket(owner, {
      prepaidIncludeId: externalId,
      kind,
      usaget,
      priority,
      fromMs,
      toMs,
      limit: 0,
      counter: '',
    })
  )
}

/** Throws `UnknownBucketError` or `NotCreditError`. */
export function creditBucketOf(owner: OwnerState, id: number): Bucket {
  const bucket = owner.buckets.find((one) => one.id === id)
  if (bucket === undefined) throw new UnknownBucketError(`there is no bucket ${id}`)
  if (bucket.counter !== '') throw new NotCreditError(`bucket ${id} counts usage`)
  if (isClosed(bucket)) throw new UnknownBucketError(`bucket ${id} is closed`)
  return bucket
}

/** A closed bucket is valid never. It stays, for what sessions paid out of it. */
export function isClosed({ fromMs, toMs }: Bucket): boolean {
  return toMs <= fromMs
}

/** A definition that has changed its kind gets a new bucket: its amounts mean something else. */
function findBucket(
  owner: OwnerState,
  include: CreditedInclude,
  nowMs: number,
): Bucket | undefined {
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

/** What a bucket is, but for its amounts. */
export type BucketTerms = Pick<
  Bucket,
  'prepaidIncludeId' | 'kind' | 'usaget' | 'priority' | 'fromMs' | 'toMs' | 'limit' | 'counter'
>

/** An empty bucket with the next id of its owner, which is changed. */
export function openBucket(owner: OwnerState, terms: BucketTerms): Bucket {
  const { prepaidIncludeId, kind, usaget, priority, fromMs, toMs, limit, counter } = terms
  const bucket: Bucket = {
    id: owner.nextBucketId,
    prepaidIncludeId,
    kind,
    usaget,
    priority,
    fromMs,
    toMs,
    credited: 0,
    spent: 0,
    reserved: 0,
    free: 0,
    limit,
    counter,
  }
  owner.nextBucketId += 1
  owner.buckets.push(bucket)
  return bucket
}
