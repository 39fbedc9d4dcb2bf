/**
 * Invariants within the ledger: each bucket balances, and each reservation belongs to a session.
 * Pure.
 */
import type { OwnerSlot, OwnerState } from '../../domain/bucket.ts'
import type { Session } from '../../domain/session.ts'
import { compare, type Difference, inBucket } from './difference.ts'

/** Units or micros reserved by sessions, by bucket id. */
export type Holds = Map<number, number>

/** Adds the reservations of open sessions in the buckets of one of their two owners. */
export function addHolds(
  holds: Holds,
  sessions: readonly (Session | null)[],
  slot: OwnerSlot,
): void {
  const add = (bucket: { owner: OwnerSlot; id: number } | null, amount: number) => {
    if (bucket?.owner === slot) holds.set(bucket.id, (holds.get(bucket.id) ?? 0) + amount)
  }
  for (const session of sessions) {
    if (session?.state !== 'open') continue
    for (const { reservation } of session.services) {
      for (const slice of reservation.slices) add(slice.bucket, slice.units)
      for (const { source, micros } of reservation.money) {
        add(source, micros)
        add(source.limitCounter, micros)
      }
    }
  }
}

/** Checks that each bucket balances, and that no more debt is repaid than was incurred. */
export function checkConserved(owner: OwnerState): Difference[] {
  const { aid, sid, owed, repaid } = owner
  const found = owner.buckets.flatMap((bucket) => {
    const where = inBucket(owner, bucket)
    const { credited, spent, reserved, free, limit } = bucket
    return [
      ...compare(where, 'spent + reserved + free', credited, spent + reserved + free),
      ...compare(where, 'spent, not negative', Math.max(0, spent), spent),
      ...compare(where, 'reserved, not negative', Math.max(0, reserved), reserved),
      ...(limit === 0 ? compare(where, 'free, not negative', Math.max(0, free), free) : []),
    ]
  })
  const where = { aid, sid, isMoney: true } as const
  return [
    ...found,
    ...compare(where, 'repaid, not negative', Math.max(0, repaid), repaid),
    ...compare(where, 'repaid, not more than owed', Math.min(owed, repaid), repaid),
  ]
}

/** Compares the reserved amount of each bucket with the reservations of sessions. */
export function checkHolds(owner: OwnerState, holds: Holds): Difference[] {
  const { aid, sid, buckets } = owner
  const known = new Set(buckets.map(({ id }) => id))
  const strays = [...holds].filter(([id]) => !known.has(id))
  return [
    ...buckets.flatMap((bucket) => {
      const held = holds.get(bucket.id) ?? 0
      return compare(
        inBucket(owner, bucket),
        'reserved, as its sessions hold',
        held,
        bucket.reserved,
      )
    }),
    ...strays.flatMap(([id, reservedAmount]) =>
      compare(
        { aid, sid, bucket: id },
        'reserved in a bucket that is not there',
        reservedAmount,
        null,
      ),
    ),
  ]
}
