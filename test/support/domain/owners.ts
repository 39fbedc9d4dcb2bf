import { type Bucket, emptyOwner, type OwnerState } from '../../../src/domain/bucket.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'

/** A bucket of 100 data units, valid without an end, with overrides. */
export function bucketOf(more: Partial<Bucket> = {}): Bucket {
  const credited = more.credited ?? 100
  return {
    id: 1,
    prepaidIncludeId: 1,
    kind: 'units',
    usaget: 'data',
    priority: 0,
    fromMs: 0,
    toMs: FOREVER_MS,
    credited,
    spent: 0,
    reserved: 0,
    free: credited,
    limit: 0,
    counter: '',
    ...more,
  }
}

/** A bucket of money for any usage, in micros. */
export function moneyOf(credited: number, more: Partial<Bucket> = {}): Bucket {
  return bucketOf({ kind: 'totalCost', usaget: '', credited, ...more })
}

/** The subscriber 7 of account 1, or its account, with these buckets. */
export function ownerOf(buckets: Bucket[], more: Partial<OwnerState> = {}): OwnerState {
  const nextBucketId = Math.max(0, ...buckets.map(({ id }) => id)) + 1
  return { ...emptyOwner(1, 7), nextBucketId, buckets, ...more }
}
