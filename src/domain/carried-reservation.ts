/**
 * Reservations carried over a time boundary: prepaid buckets pay for the usage for which they were
 * reserved, even if they have expired since.
 */
import type { Bucket, BucketRef, FundingSource } from './bucket.ts'
import type { ChargeProgram } from './charge-program.ts'
import { type SettlementWork, writableBucket } from './copy-on-write.ts'
import { appended } from './segment.ts'
import type { Reservation, Segment, Slice } from './session.ts'

/** Carries over the reserved units of a slice. */
export function carrySlice(
  work: SettlementWork,
  { bucket, isCovered }: Slice,
  units: number,
): void {
  if (units === 0) return
  const { carriedReservation } = work
  const slices = appended(carriedReservation.slices, { bucket, units, isCovered })
  work.carriedReservation = {
    units: carriedReservation.units + units,
    slices,
    money: carriedReservation.money,
  }
}

/** Carries over reserved money. */
export function carryMoney(work: SettlementWork, source: FundingSource, micros: number): void {
  const { carriedReservation } = work
  work.carriedReservation = {
    ...carriedReservation,
    money: appended(carriedReservation.money, { source, micros }),
  }
}

/** Returns an amount to a bucket. In an expired bucket it is forfeited, which the line records. */
export function returnToBucket(
  bucket: Bucket,
  amount: number,
  segment: Segment,
  atMs: number,
): void {
  bucket.free += amount
  if (bucket.toMs > atMs || bucket.counter !== '') return
  if (bucket.kind === 'units') segment.counts.forfeitedUnits += amount
  else segment.counts.forfeitedMicros += amount
}

/** The amount reserved in a bucket before a boundary, and the total spent at that time. */
export interface CarriedHold {
  ref: BucketRef
  amount: number
  spent: number
}

/** Releases all holds. Later debits are measured against `spent`. */
export function releaseCarried(
  work: SettlementWork,
  { slices, money }: Reservation,
): CarriedHold[] {
  const found: CarriedHold[] = []
  const release = (ref: BucketRef, amount: number) => {
    const bucket = writableBucket(work, ref)
    bucket.reserved -= amount
    bucket.free += amount
    const known = found.find(({ ref: other }) => other.id === ref.id && other.owner === ref.owner)
    if (known === undefined) found.push({ ref, amount, spent: bucket.spent })
    else known.amount += amount
  }
  for (const { bucket, units } of slices) if (bucket !== null) release(bucket, units)
  for (const { source, micros } of money) release(source, micros)
  return found
}

/** Returns the unused part, or carries it over for usage after the next boundary. */
export function returnCarried(
  work: SettlementWork,
  segment: Segment,
  { carriesReservation, atMs }: ChargeProgram,
  { ref, amount, spent }: CarriedHold,
): void {
  const bucket = writableBucket(work, ref)
  const rest = Math.max(0, amount - (bucket.spent - spent))
  if (rest === 0) return
  bucket.free -= rest
  if (carriesReservation !== true) {
    returnToBucket(bucket, rest, segment, atMs)
    return
  }
  bucket.reserved += rest
  if (bucket.kind === 'units')
    carrySlice(work, { bucket: ref, units: rest, isCovered: false }, rest)
  else carryMoney(work, { ...ref, isGroup: false, limitCounter: null }, rest)
}
