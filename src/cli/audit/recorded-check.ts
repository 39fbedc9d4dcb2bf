/** Compares MongoDB with the ledger: the balance projection and the sums over all lines. Pure. */
import {
  type BalanceDocument,
  projectedBuckets,
} from '../../catalog/records/usage/balance-document.ts'
import type { BucketSums, OwnerSums } from '../../catalog/records/usage/line-sums.ts'
import type { OwnerState } from '../../domain/bucket.ts'
import { parseUsageTotal } from '../../domain/counters.ts'
import { compare, type Difference, inBucket } from './difference.ts'

/**
 * Compares credited and spent of each bucket, and the owner's debt, with the sums of the lines.
 * Totals of usage, from which nothing is paid, are not on lines.
 */
export function checkLines(owner: OwnerState, sums: OwnerSums): Difference[] {
  const { aid, sid } = owner
  const known = new Set(owner.buckets.map(({ id }) => id))
  const ofDebt = { aid, sid, isMoney: true } as const
  const isDropped = (id: number, { isCounter }: BucketSums) => isCounter && id < owner.nextBucketId
  const strays = [...sums.buckets].filter(([id, said]) => !known.has(id) && !isDropped(id, said))
  return [
    ...owner.buckets.flatMap((bucket) => {
      const { id, credited, spent, counter } = bucket
      if (parseUsageTotal(counter) !== null) return []
      const where = inBucket(owner, bucket)
      const said = sums.buckets.get(id)
      return [
        ...compare(where, 'spent, as its lines say', spent, said?.spent ?? 0),
        ...compare(where, 'credited, as its lines say', credited, said?.credited ?? 0),
      ]
    }),
    ...strays.flatMap(([id, { spent }]) =>
      compare(
        { aid, sid, bucket: id },
        'spent by lines of a bucket that is not there',
        null,
        spent,
      ),
    ),
    ...compare(ofDebt, 'debt incurred, as its lines say', owner.owed, sums.owed),
    ...compare(ofDebt, 'debt repaid, as its lines say', owner.repaid, sums.repaid),
  ]
}

/**
 * Compares the projection of each bucket with its state. It may have an older version: the recorder
 * does not write a bucket again whose amounts have not changed.
 */
export function checkProjection(
  owner: OwnerState,
  projected: readonly BalanceDocument[],
): Difference[] {
  const { aid, sid } = owner
  const buckets = projectedBuckets(owner)
  const documents = new Map(projected.map((document) => [document.bucket_id, document]))
  const known = new Set(buckets.map(({ id }) => id))
  // The last projection of a dropped counter remains permanently.
  const isDropped = ({ bucket_id: id, v, counter = '' }: BalanceDocument) =>
    counter !== '' && id < owner.nextBucketId && v < owner.version
  const strays = projected.filter((one) => !known.has(one.bucket_id) && !isDropped(one))
  return [
    ...buckets.flatMap((bucket) => {
      const where = { aid, sid, bucket: bucket.id }
      const document = documents.get(bucket.id)
      const compared =
        (at: Parameters<typeof compare>[0]) =>
        (what: string, expected: number, found: number | undefined) =>
          compare(at, `${what} in the projection`, expected, found ?? null)
      const same = compared(inBucket(owner, bucket))
      const sameDebt = compared({ ...where, isMoney: true })
      const { version } = owner
      return [
        ...((document?.v ?? 0) > version ? compared(where)('version', version, document?.v) : []),
        ...same('credited', bucket.credited, document?.credited),
        ...same('spent', bucket.spent, document?.spent),
        ...same('reserved', bucket.reserved, document?.reserved),
        ...same('free', bucket.free, document?.free),
        ...sameDebt('debt incurred', owner.owed, document?.owner.owed_micros),
        ...sameDebt('debt repaid', owner.repaid, document?.owner.repaid_micros),
      ]
    }),
    ...strays.flatMap(({ bucket_id, v }) =>
      compare({ aid, sid, bucket: bucket_id }, 'projection of a bucket that is not there', null, v),
    ),
  ]
}
