/** Returns an overcharge of a segment to the buckets that paid. */
import type { Bucket, BucketRef, OwnerSlot } from './bucket.ts'
import { findBucket, type SettlementWork, writableBucket } from './copy-on-write.ts'
import { CREDIT, isGroupCounter } from './counters.ts'
import { copyPayment } from './counts.ts'
import { isClosed } from './credit.ts'
import { debtIn, forgive, ownerAt } from './debt.ts'
import { isSamePayer } from './price-continuation.ts'
import { appended, recordPayment, safeTotal } from './segment.ts'
import type { Payment } from './segment-parts.ts'
import type { Segment } from './session.ts'

/**
 * Cancels debt first, that of the account before that of the subscriber, then returns money to the
 * buckets that paid, the last one first, and credits debt that has been repaid since. The rest is
 * credited in a prepaid segment; the line of a postpaid one returns it on the invoice.
 */
export function refund(work: SettlementWork, segment: Segment, micros: number): void {
  let left = micros - forgive(work, segment, 1, micros)
  left -= forgive(work, segment, 0, left)
  const counted = creditPaid(segment)
  left -= returnPaid(work, segment, left, (payment) => isMoney(payment, false))
  const ofLimit = counted - creditPaid(segment)
  returnPaid(work, segment, ofLimit, ({ kind }) => kind === 'limit')
  left -= creditMoney(work, segment, 1, Math.min(left, debtIn(segment, 1)))
  left -= creditMoney(work, segment, 0, Math.min(left, debtIn(segment, 0)))
  if (!segment.isPrepaid) return
  left -= creditMoney(work, segment, 0, left)
  creditMoney(work, segment, 1, left)
}

/** Micros of postpaid credit that the segment has paid or returned. */
function creditPaid({ counts: { payments } }: Segment): number {
  let sum = 0
  for (const { kind, counter, amount } of payments) {
    if (kind === 'money' && counter === CREDIT) sum += amount
  }
  return sum
}

/**
 * Credits money instead of reducing what a bucket has spent, because a top-up that has repaid debt
 * is not distinguished from usage there: to the bucket that is valid longest, of those that can
 * pay for the service if there is one. Returns the amount; 0 if the owner has no money.
 */
function creditMoney(
  work: SettlementWork,
  segment: Segment,
  slot: OwnerSlot,
  micros: number,
): number {
  if (micros === 0) return 0
  const { usaget } = work.service.identity
  const isUsable = ({ kind, usaget: own, toMs }: Bucket) =>
    (kind === 'totalCost' || own === usaget) && toMs > segment.counts.lastMs
  const [longest] = (ownerAt(work, slot)?.buckets ?? [])
    .filter((bucket) => bucket.kind !== 'units' && bucket.counter === '' && !isClosed(bucket))
    .toSorted((one, other) => other.toMs - one.toMs)
    .toSorted((one, other) => Number(isUsable(other)) - Number(isUsable(one)))
  if (longest === undefined) return 0
  const ref: BucketRef = { owner: slot, id: longest.id }
  const bucket = writableBucket(work, ref)
  bucket.credited = safeTotal(bucket.credited + micros, 'the credit of a bucket')
  bucket.free += micros
  recordPayment(segment, ref, bucket, 0 - micros, 'creditedMoney')
  return micros
}

/**
 * As `refund`, for included money. The part that refunds without an event have taken from the
 * counters is not returned again.
 */
export function returnToGroups(work: SettlementWork, segment: Segment, micros: number): void {
  returnPaid(work, segment, micros, (payment) => isMoney(payment, true))
}

function isMoney({ kind, counter }: Payment, ofGroup: boolean): boolean {
  return kind === 'money' && isGroupCounter(counter) === ofGroup
}

/**
 * Returns money to the buckets that paid for the segment, then to those of earlier segments.
 * Returns the amount.
 */
function returnPaid(
  work: SettlementWork,
  segment: Segment,
  micros: number,
  isMeant: (payment: Payment) => boolean,
): number {
  let left = micros
  const { carried, payments } = segment.counts
  const earlier = carried?.payments ?? []
  const onlyEarlier = earlier.filter((one) => !payments.some((own) => isSamePayer(own, one)))
  for (const payment of [...onlyEarlier, ...payments].reverse()) {
    if (!isMeant(payment)) continue
    const isIts = (other: Payment) => isSamePayer(other, payment)
    const before = earlier.find(isIts)?.amount ?? 0
    const paid = before + (payments.find(isIts)?.amount ?? 0)
    if (left > 0 && paid > 0) left -= returnTo(work, segment, payment, Math.min(left, paid))
  }
  return micros - left
}

/**
 * Returns the amount returned. The bucket may have been removed since, together with the cycle of
 * its counter. What it has spent falls to 0 at most: a refund without an event may have reduced it.
 */
function returnTo(
  work: SettlementWork,
  segment: Segment,
  payment: Payment,
  amount: number,
): number {
  const ref: BucketRef = { owner: payment.owner, id: payment.bucketId }
  const known = findBucket(work, ref)
  if (known === undefined) {
    ownPayment(segment, payment).amount -= amount
    return amount
  }
  const returned = Math.min(amount, known.spent)
  const bucket = writableBucket(work, ref)
  bucket.spent -= returned
  bucket.free += returned
  recordPayment(segment, ref, bucket, 0 - returned, payment.kind)
  return returned
}

function ownPayment(segment: Segment, payment: Payment): Payment {
  const known = segment.counts.payments.find((other) => isSamePayer(other, payment))
  if (known !== undefined) return known
  const own = { ...copyPayment(payment), amount: 0 }
  segment.counts.payments = appended(segment.counts.payments, own)
  return own
}
