/**
 * Operations on a balance that is there: taking away all that is free, and carrying it to another
 * account. Pure; committed by the ledger's operations.
 */
import { type Bucket, copyOwner, type OwnerState } from './bucket.ts'
import {
  addCredit,
  BalanceRefusal,
  type BucketTerms,
  type Credit,
  type CreditResult,
  credit,
  creditBucketOf,
  openBucket,
  repayable,
} from './credit.ts'

/** Sessions hold something of the bucket, or have given it back: it cannot be closed yet. */
export class BucketReservedError extends BalanceRefusal {
  override name = 'BucketReservedError'
}

/**
 * `close`: takes away all that is free, and ends the bucket for good. `transfer_out`: takes all
 * that is free, and leaves what is reserved and the validity, for sessions that go on here.
 */
export interface Withdrawal {
  mode: 'close' | 'transfer_out'
  bucketId: number
  /** Of `close`: refused while anything is free, too, so that nothing is taken away. */
  isEmptied?: true
}

/** The other end of a `transfer_out`: a bucket with the terms that it had elsewhere. */
export interface TransferIn {
  mode: 'transfer_in'
  terms: BucketTerms
  /** Units or micros that the other end took; 0 for a counter. */
  amount: number
  /** What a counter has counted elsewhere; 0 for credit. */
  counted: number
}

/** Moves nothing: the head of several operations on one owner (`parentRef` of their lines). */
export interface Heading {
  mode: 'heading'
}

export type BalanceOperation = Credit | Withdrawal | TransferIn | Heading

export interface OperationResult extends Omit<CreditResult, 'bucket'> {
  /** Null of a heading. */
  bucket: Bucket | null
  /** By how much a counter has counted more. */
  counted: number
}

/** Pure. Throws a `BalanceRefusal`. */
export function operate(
  state: OwnerState,
  operation: BalanceOperation,
  nowMs: number,
): OperationResult {
  switch (operation.mode) {
    case 'close':
      return close(state, operation)
    case 'transfer_out':
      return withdraw(state, operation.bucketId)
    case 'transfer_in':
      return operation.terms.counter === '' ? receive(state, operation) : count(state, operation)
    case 'heading':
      return { ...UNMOVED, owner: nextOf(state), bucket: null, before: 0, after: 0 }
    default:
      return { ...credit(state, operation, nowMs), counted: 0 }
  }
}

const UNMOVED = { amount: 0, repaid: 0, normalized: 0, counted: 0 } as const

function nextOf(state: OwnerState): OwnerState {
  const owner = copyOwner(state)
  owner.version += 1
  return owner
}

function withdraw(state: OwnerState, bucketId: number): OperationResult & { bucket: Bucket } {
  const owner = nextOf(state)
  const bucket = creditBucketOf(owner, bucketId)
  const before = bucket.free
  const taken = Math.max(0, before)
  // Not -taken, which makes -0 of 0.
  const amount = 0 - taken
  addCredit(owner, bucket, amount, 0)
  return { ...UNMOVED, owner, bucket, amount, before, after: bucket.free }
}

/** A validity without any time in it tells a closed bucket from one that has only ended. */
function close(state: OwnerState, { bucketId, isEmptied }: Withdrawal): OperationResult {
  const result = withdraw(state, bucketId)
  const { bucket } = result
  if (isEmptied === true && result.amount !== 0) {
    throw new BucketReservedError(`${-result.amount} of bucket ${bucketId} are free again`)
  }
  if (bucket.reserved > 0) {
    throw new BucketReservedError(`sessions hold ${bucket.reserved} of bucket ${bucketId}`)
  }
  bucket.toMs = bucket.fromMs
  return result
}

/** Money pays the debt that the owner may have in this account, as any credit does. */
function receive(state: OwnerState, { terms, amount }: TransferIn): OperationResult {
  const owner = nextOf(state)
  const bucket = openBucket(owner, terms)
  const repaid = repayable(owner, bucket, amount)
  addCredit(owner, bucket, amount, repaid)
  return { ...UNMOVED, owner, bucket, amount, before: 0, after: bucket.free, repaid }
}

/**
 * A counter goes on from what was counted elsewhere. One of the same period that is there already
 * knows a part of that from an earlier stay: it goes on from the greater of both.
 */
function count(state: OwnerState, { terms, counted }: TransferIn): OperationResult {
  const owner = nextOf(state)
  const same = ({ counter, fromMs }: Bucket) => counter === terms.counter && fromMs === terms.fromMs
  const bucket = owner.buckets.find(same) ?? openBucket(owner, terms)
  const before = bucket.free
  const more = Math.max(0, counted - bucket.spent)
  bucket.spent += more
  bucket.free -= more
  return { ...UNMOVED, owner, bucket, before, after: bucket.free, counted: more }
}
