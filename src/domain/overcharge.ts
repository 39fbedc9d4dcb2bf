/** Returns an overcharge of a segment to the buckets that paid. */
import { assert } from './assert.ts'
import type { BucketRef, OwnerSlot } from './bucket.ts'
import { findBucket, type SettlementWork, writableBucket } from './copy-on-write.ts'
import { isGroupCounter } from './counters.ts'
import { copyPayment } from './counts.ts'
import { debtIn, forgive, ownerAt } from './debt.ts'
import { isSamePayer, paymentsOf } from './price-continuation.ts'
import { appended, recordPayment } from './segment.ts'
import type { Payment } from './segment-parts.ts'
import type { Segment } from './session.ts'

/**
 * Cancels debt first, that of the account before that of the subscriber, and then returns money to
 * the buckets that paid, the last one first.
 */
export function refund(work: SettlementWork, segment: Segment, micros: number): void {
  let returned = micros - forgive(work, segment, 1, micros)
  returned -= forgive(work, segment, 0, returned)
  let left = returnPaid(work, segment, returned, (payment) => isMoney(payment, false))
  left -= returnRepaid(work, segment, 1, Math.min(left, repaidIn(segment, 1)))
  left -= returnRepaid(work, segment, 0, left)
  assert(left === 0, 'more is returned than was paid')
  returnPaid(work, segment, returned, ({ kind }) => kind === 'limit')
}

/** Debt of a segment that top-ups of its owner have paid, less the amount already returned. */
function repaidIn(segment: Segment, slot: OwnerSlot): number {
  let repaid = debtIn(segment, slot)
  for (const { owner, kind, amount } of paymentsOf(segment.counts)) {
    if (kind === 'money' && owner === slot && amount < 0) repaid += amount
  }
  return repaid
}

/** Returns debt that top-ups have repaid since to prepaid money. Returns the amount. */
function returnRepaid(
  work: SettlementWork,
  segment: Segment,
  slot: OwnerSlot,
  micros: number,
): number {
  let left = micros
  for (const { id, kind, counter, spent } of ownerAt(work, slot)?.buckets ?? []) {
    if (left === 0) break
    if (kind === 'units' || counter !== '') continue
    const returned = Math.min(left, spent)
    if (returned === 0) continue
    const ref: BucketRef = { owner: slot, id }
    const bucket = writableBucket(work, ref)
    bucket.spent -= returned
    bucket.free += returned
    left -= returned
    recordPayment(segment, ref, bucket, 0 - returned, 'money')
  }
  return micros - left
}

/** As `refund`, for included money. */
export function returnToGroups(work: SettlementWork, segment: Segment, micros: number): void {
  const left = returnPaid(work, segment, micros, (payment) => isMoney(payment, true))
  assert(left === 0, 'more is returned than included money paid')
}

function isMoney({ kind, counter }: Payment, ofGroup: boolean): boolean {
  return kind === 'money' && isGroupCounter(counter) === ofGroup
}

/**
 * Returns money to the buckets that paid for the segment, then to those of earlier segments.
 * Returns the amount that no bucket had paid.
 */
function returnPaid(
  work: SettlementWork,
  segment: Segment,
  micros: number,
  isMeant: (payment: Payment) => boolean,
): number {
  const { carried, payments } = segment.counts
  const earlier = carried?.payments ?? []
  const onlyEarlier = earlier.filter((one) => !payments.some((own) => isSamePayer(own, one)))
  let left = micros
  for (const payment of [...onlyEarlier, ...payments].reverse()) {
    if (!isMeant(payment)) continue
    const isIts = (other: Payment) => isSamePayer(other, payment)
    const before = earlier.find(isIts)?.amount ?? 0
    const returned = Math.min(left, before + (payments.find(isIts)?.amount ?? 0))
    if (returned <= 0) continue
    left -= returned
    returnTo(work, segment, payment, returned)
  }
  return left
}

/**
 * The bucket may have been removed since, together with the cycle of its counter. A counter falls
 * to 0 at most: a refund without an event may have reduced it before. The rest was returned then.
 */
function returnTo(work: SettlementWork, segment: Segment, payment: Payment, amount: number): void {
  const ref: BucketRef = { owner: payment.owner, id: payment.bucketId }
  const known = findBucket(work, ref)
  if (known === undefined) {
    ownPayment(segment, payment).amount -= amount
    return
  }
  const returned = known.counter === '' ? amount : Math.min(amount, known.spent)
  if (returned === 0) return
  const bucket = writableBucket(work, ref)
  bucket.spent -= returned
  bucket.free += returned
  recordPayment(segment, ref, bucket, 0 - returned, payment.kind)
}

function ownPayment(segment: Segment, payment: Payment): Payment {
  const known = segment.counts.payments.find((other) => isSamePayer(other, payment))
  if (known !== undefined) return known
  const own = { ...copyPayment(payment), amount: 0 }
  segment.counts.payments = appended(segment.counts.payments, own)
  return own
}
