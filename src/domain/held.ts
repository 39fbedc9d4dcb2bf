/**
 * Reservations held across a time boundary: prepaid buckets pay for the usage that they were
 * reserved for, even if they have expired since.
 */
import type { Bucket, BucketRef, Payer } from './bucket.ts'
import type { ChargeProgram } from './charge-program.ts'
import { ownBucket, type SettlementDraft } from './copy-on-write.ts'
import { appended } from './segment.ts'
import type { Reservation, Segment, Slice } from './session.ts'

/** Keeps units of a slice reserved. */
export function keepSlice(
  work: SettlementDraft,
  { bucket, isCovered }: Slice,
  units: number,
): void {
  if (units === 0) return
  const { kept } = work
  const slices = appended(kept.slices, { bucket, units, isCovered })
  work.kept = { units: kept.units + units, slices, money: kept.money }
}

/** Keeps money reserved. */
export function keepMoney(work: SettlementDraft, payer: Payer, micros: number): void {
  const { kept } = work
  work.kept = { ...kept, money: appended(kept.money, { payer, micros }) }
}

/** Returns an amount to a bucket. In an expired bucket it lapses, which the line records. */
export function giveBack(bucket: Bucket, amount: number, segment: Segment, atMs: number): void {
  bucket.free += amount
  if (bucket.toMs > atMs || bucket.counter !== '') return
  if (bucket.kind === 'units') segment.lapsedUnits += amount
  else segment.lapsedMicros += amount
}

/** The amount that a bucket held before a boundary, and its total spent at that time. */
export interface HeldBefore {
  ref: BucketRef
  amount: number
  spent: number
}

/** Releases all holds; later debits are measured against `spent`. */
export function releaseHeld(work: SettlementDraft, { slices, money }: Reservation): HeldBefore[] {
  const found: HeldBefore[] = []
  const release = (ref: BucketRef, amount: number) => {
    const bucket = ownBucket(work, ref)
    bucket.reserved -= amount
    bucket.free += amount
    const known = found.find(({ ref: other }) => other.id === ref.id && other.owner === ref.owner)
    if (known === undefined) found.push({ ref, amount, spent: bucket.spent })
    else known.amount += amount
  }
  for (const { bucket, units } of slices) if (bucket !== null) release(bucket, units)
  for (const { payer, micros } of money) release(payer, micros)
  return found
}

/** Returns the unused part, or keeps it reserved for usage after the next boundary. */
export function returnHeld(
  work: SettlementDraft,
  segment: Segment,
  { keeps, atMs }: ChargeProgram,
  { ref, amount, spent }: HeldBefore,
): void {
  const bucket = ownBucket(work, ref)
  const rest = Math.max(0, amount - (bucket.spent - spent))
  if (rest === 0) return
  bucket.free -= rest
  if (keeps !== true) {
    giveBack(bucket, rest, segment, atMs)
    return
  }
  bucket.reserved += rest
  if (bucket.kind === 'units') keepSlice(work, { bucket: ref, units: rest, isCovered: false }, rest)
  else keepMoney(work, { ...ref, isGroup: false, alsoIn: null }, rest)
}
