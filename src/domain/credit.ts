/**
 * Balance operations: crediting and adjusting buckets. Pure; committed by the operations of the
 * ledger.
 */
import { type Bucket, copyOwner, debtOf, type OwnerState } from './bucket.ts'
import type { PrepaidInclude } from './catalogue.ts'
import { decimalText } from './money.ts'

/** An operation that the current state of the balance does not allow. Nothing has changed. */
export class BalanceRefusal extends Error {
  override name = 'BalanceRefusal'
}

/** The adjustment would withdraw more than is available. */
export class InsufficientBalanceError extends BalanceRefusal {
  override name = 'InsufficientBalanceError'
  /** The message, with amounts of money as a function writes them. */
  readonly textWith: (money: (amount: string) => string) => string

  constructor(textWith: (money: (amount: string) => string) => string) {
    super(textWith(String))
    this.textWith = textWith
  }
}

/** An amount would exceed 2^53 units or micros. */
export class BalanceRangeError extends BalanceRefusal {
  override name = 'BalanceRangeError'
}

/** The bucket does not exist, or was closed. */
export class UnknownBucketError extends BalanceRefusal {
  override name = 'UnknownBucketError'
}

/** The bucket is a counter: it counts usage and holds no credit. */
export class NotCreditError extends BalanceRefusal {
  override name = 'NotCreditError'
}

/** The fields of a prepaid include that a credit needs. */
export type CreditedInclude = Pick<
  PrepaidInclude,
  'externalId' | 'kind' | 'usaget' | 'priority' | 'unlimited'
>

export interface Credit {
  include: CreditedInclude
  /**
   * Units or micros. `inc` and `new`: the amount to add; a negative amount is withdrawn from what
   * is available. `set`: the available amount afterwards.
   */
  amount: number
  /** Validity of the bucket; that of an existing one is extended to `toMs`. */
  fromMs: number
  toMs: number
  /** `inc` and `set` use the bucket that is valid now, or create one; `new` always creates one. */
  mode: 'inc' | 'new' | 'set'
  /** Uses this bucket, valid or not. */
  bucketId?: number
  /** Maximum available amount after a credit, unless the definition is unlimited. */
  freeMax?: number
}

/**
 * Begin of what is loaded now: the start of the second, since many network elements have clocks of
 * whole seconds and use it at once.
 */
export function beginOfLoad(nowMs: number): number {
  return Math.floor(nowMs / 1000) * 1000
}

export interface CreditResult {
  owner: OwnerState
  bucket: Bucket
  /** Credited units or micros; for `set` the difference. */
  amount: number
  /** Available before and after, units or micros; `repaid` is the part that repaid debt. */
  before: number
  after: number
  repaid: number
  /** By how much the credited amount is less than the requested one, because of `freeMax`. */
  normalized: number
}

/**
 * Pure. Added money repays the debt of its owner first (debt.ts). `set` leaves debt unchanged, so
 * that the requested amount is available. Throws `BalanceRefusal`.
 */
export function credit(state: OwnerState, operation: Credit, nowMs: number): CreditResult {
  const owner = copyOwner(state)
  const bucket = bucketFor(owner, operation, nowMs)
  const before = bucket.free
  const { amount, normalized } = decide(owner, bucket, operation)
  if (bucket.free + amount < 0 && amount < 0) {
    const { externalId } = operation.include
    throw new InsufficientBalanceError((money) => {
      const [free, requested] = [before, -amount].map((value) =>
        bucket.kind === 'units' ? String(value) : money(decimalText(value)),
      )
      return `bucket ${externalId} has ${free} free, less than ${requested}`
    })
  }
  const repaid = operation.mode === 'set' ? 0 : repayable(owner, bucket, amount)
  addCredit(owner, bucket, amount, repaid)
  if (amount >= 0 || operation.mode === 'set') bucket.toMs = Math.max(bucket.toMs, operation.toMs)
  owner.version += 1
  return { owner, bucket, amount, before, after: bucket.free, repaid, normalized }
}

/** The amount to credit, and by how much it is less than the requested one. */
function decide(
  owner: OwnerState,
  bucket: Bucket,
  { mode, amount, include, freeMax }: Credit,
): { amount: number; normalized: number } {
  const most = include.unlimited || freeMax === undefined ? Number.POSITIVE_INFINITY : freeMax
  if (mode === 'set') {
    if (amount < 0) throw new InsufficientBalanceError(() => 'a balance cannot be set below 0')
    const target = Math.min(amount, most)
    return { amount: target - bucket.free, normalized: amount - target }
  }
  // The part that repays debt does not become available.
  const added = amount - repayable(owner, bucket, amount)
  const normalized = Math.max(0, Math.min(bucket.free + added - most, added))
  return { amount: amount - normalized, normalized }
}

/** Debt that is repaid by adding an amount of money to a bucket. */
export function repayable(owner: OwnerState, bucket: Bucket, amount: number): number {
  if (bucket.kind === 'units') return 0
  return Math.min(debtOf(owner), Math.max(0, Math.min(amount, bucket.free + amount)))
}

/** Changes the owner and its bucket; `repaid` of the amount is spent. */
export function addCredit(owner: OwnerState, bucket: Bucket, amount: number, repaid: number): void {
  if (!Number.isSafeInteger(totalCredited(owner) + amount)) {
    throw new BalanceRangeError(`bucket ${bucket.prepaidIncludeId} would exceed 2^53`)
  }
  bucket.credited += amount
  bucket.free += amount - repaid
  bucket.spent += repaid
  owner.repaid += repaid
}

/** The ledger also checks the sum over all buckets of an owner, so it has to stay exact. */
function totalCredited(owner: OwnerState): number {
  return owner.buckets.reduce((sum, bucket) => sum + bucket.credited, 0)
}

/** The bucket of the operation, in the copied owner; a new one if it has no such bucket. */
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

/** A closed bucket is never valid. It stays for the payments of sessions that refer to it. */
export function isClosed({ fromMs, toMs }: Bucket): boolean {
  return toMs <= fromMs
}

/**
 * If the kind of a definition has changed, it gets a new bucket, since amounts have another
 * meaning.
 */
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

/** The fields of a bucket except its amounts. */
export type BucketTerms = Pick<
  Bucket,
  'prepaidIncludeId' | 'kind' | 'usaget' | 'priority' | 'fromMs' | 'toMs' | 'limit' | 'counter'
>

/** Adds an empty bucket with the next id to the owner. */
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
