/**
 * Copy-on-write access to the owners during one settlement. Buckets and owners are copied before
 * the first change: most settlements change one bucket of one owner.
 */
import { InvariantError, present } from './assert.ts'
import {
  type Bucket,
  type BucketRef,
  copyBucket,
  type OwnerSlot,
  type OwnerState,
  withBuckets,
} from './bucket.ts'
import type { Settlement, SettleState } from './charge-program.ts'

export interface SettlementWork extends Settlement {
  /** The input state. Never changed. */
  readonly initial: SettleState
}

/** The two owners of a request. */
export type Owners = Pick<SettleState, 'subscriber' | 'account'>

/** Finds a bucket for reading. */
export function findBucket(owners: Owners, ref: BucketRef): Bucket | undefined {
  const owner = ref.owner === 0 ? owners.subscriber : owners.account
  if (owner === null) return undefined
  const { id } = ref
  for (const bucket of owner.buckets) if (bucket.id === id) return bucket
  return undefined
}

/** Finds a bucket that must exist. */
export function bucketOf(state: SettleState, ref: BucketRef): Bucket {
  const bucket = findBucket(state, ref)
  if (bucket !== undefined) return bucket
  throw new InvariantError(`bucket ${ref.id} of owner ${ref.owner} is missing`)
}

/** A bucket that may be changed: a copy of the input's, made on first use. */
export function writableBucket(work: SettlementWork, ref: BucketRef): Bucket {
  const { owner: slot } = ref
  const bucket = bucketOf(work, ref)
  const before = slot === 0 ? work.initial.subscriber : work.initial.account
  const owner = slot === 0 ? work.subscriber : work.account
  const index = owner?.buckets.indexOf(bucket) as number
  if (before?.buckets[index] !== bucket) return bucket
  const own = copyBucket(bucket)
  writableOwner(work, slot).buckets[index] = own
  return own
}

/** An owner that may be changed. Its buckets are still those of the input. */
export function writableOwner(work: SettlementWork, slot: OwnerSlot): OwnerState {
  if (slot === 0) {
    const { subscriber } = work
    if (subscriber !== work.initial.subscriber) return subscriber
    work.subscriber = withBuckets(subscriber, subscriber.buckets.slice())
    return work.subscriber
  }
  const account = present(work.account, 'the account')
  if (account !== work.initial.account) return account
  const own = withBuckets(account, account.buckets.slice())
  work.account = own
  return own
}
