/**
 * Operations on an existing balance: withdrawing all that is available, and transferring it to
 * another account. Pure; committed by the operations of the ledger.
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

/** Sessions have a reservation in the bucket, or have returned one: it cannot be closed yet. */
export class BucketReservedError extends BalanceRefusal {
  override name = 'BucketReservedError'
}

/**
 * `close`: withdraws the available amount and ends the bucket permanently. `transfer_out`:
 * withdraws the available amount; reservations and validity stay, for the sessions that continue
 * here.
 */
export interface Withdrawal {
  mode: 'close' | 'transfer_out'
  bucketId: number
  /** For `close`: refused if an amount is available, so that nothing is withdrawn. */
  isEmptied?: true
}

/** The target of a `transfer_out`: a bucket with the terms of the source. */
export interface TransferIn {
  mode: 'transfer_in'
  terms: BucketTerms
  /** Units or micros withdrawn from the source; 0 for a counter. */
  amount: number
  /** Usage counted by the source counter; 0 for credit. */
  counted: number
}

/** Moves nothing: the parent of several operations on one owner (`parentRef` of their lines). */
export interface Heading {
  mode: 'heading'
}

export type BalanceOperation = Credit | Withdrawal | TransferIn | Heading

export interface OperationResult extends Omit<CreditResult, 'bucket'> {
  /** Null for a heading. */
  bucket: Bucket | null
  /** Usage added to a counter. */
  counted: number
}

/** Pure. Throws `BalanceRefusal`. */
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
  // Unary minus would turn 0 into -0.
  const amount = 0 - taken
  addCredit(owner, bucket, amount, 0)
  return { ...UNMOVED, owner, bucket, amount, before, after: bucket.free }
}

/** An empty validity distinguishes a closed bucket from an expired one. */
function close(state: OwnerState, { bucketId, isEmptied }: Withdrawal): OperationResult {
  const result = withdraw(state, bucketId)
  const { bucket } = result
  if (isEmptied === true && result.amount !== 0) {
    throw new BucketReservedError(`bucket ${bucketId} has ${-result.amount} available again`)
  }
  if (bucket.reserved > 0) {
    throw new BucketReservedError(`sessions hold ${bucket.reserved} of bucket ${bucketId}`)
  }
  bucket.toMs = bucket.fromMs
  return result
}

/** As with any credit, money repays the debt of the owner in this account first. */
function receive(state: OwnerState, { terms, amount }: TransferIn): OperationResult {
  const owner = nextOf(state)
  const bucket = openBucket(owner, terms)
  const repaid = repayable(owner, bucket, amount)
  addCredit(owner, bucket, amount, repaid)
  return { ...UNMOVED, owner, bucket, amount, before: 0, after: bucket.free, repaid }
}

/**
 * A counter continues from the usage counted by the source. An existing one of the same period
 * already contains a part of that usage from an earlier membership in this account, so it continues
 * from the greater of both.
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
