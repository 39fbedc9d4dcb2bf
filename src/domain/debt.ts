/**
 * Debt: the price of overuse that no bucket could pay. It belongs to one of the two owners of a
 * request, and is repaid by the next top-up of money of that owner (credit.ts).
 */
import { debtOf, type FundingSource, type OwnerSlot, type OwnerState } from './bucket.ts'
import { findBucket, type Owners, type SettlementWork, writableOwner } from './copy-on-write.ts'
import { paymentsOf } from './price-continuation.ts'
import type { Segment } from './session.ts'

/**
 * The owner that owes what no funding source could pay: the owner of the last source of money,
 * valid ones before expired ones; without money the owner of the last source of units; without any
 * source the subscriber. `ended`: expired prepaid buckets, by time of expiry.
 */
export function debtorOf(
  owners: Owners,
  valid: readonly FundingSource[],
  ended: readonly FundingSource[],
): OwnerSlot {
  const hasMoney = (source: FundingSource) => isMoneySource(owners, source)
  const last = valid.findLast(hasMoney) ?? ended.findLast(hasMoney) ?? valid.at(-1) ?? ended.at(-1)
  return last?.owner ?? 0
}

/** Whether a funding source is money. Debt goes to an owner that receives money top-ups. */
export function isMoneySource(owners: Owners, source: FundingSource): boolean {
  const bucket = findBucket(owners, source)
  return bucket !== undefined && bucket.kind !== 'units'
}

/**
 * Debt that one of the two owners incurred in a segment, including debt carried into it, less the
 * amount that a falling price has credited for it.
 */
export function debtIn({ counts }: Segment, slot: OwnerSlot): number {
  const { debt, accountDebt, carried } = counts
  const ofAccount = accountDebt + (carried?.accountDebt ?? 0)
  let left = slot === 1 ? ofAccount : debt + (carried?.debt ?? 0) - ofAccount
  for (const { owner, kind, amount } of paymentsOf(counts)) {
    if (kind === 'creditedMoney' && owner === slot) left += amount
  }
  return Math.max(0, left)
}

/** Cancels debt of a segment as far as its owner still owes it. Returns the amount. */
export function forgive(
  work: SettlementWork,
  segment: Segment,
  slot: OwnerSlot,
  micros: number,
): number {
  const owner = ownerAt(work, slot)
  const forgiven = Math.min(micros, debtIn(segment, slot), owner === null ? 0 : debtOf(owner))
  if (forgiven === 0) return 0
  segment.counts.debt -= forgiven
  if (slot === 1) segment.counts.accountDebt -= forgiven
  writableOwner(work, slot).owed -= forgiven
  return forgiven
}

/** An owner of a request, or null. */
export function ownerAt(owners: Owners, slot: OwnerSlot): OwnerState | null {
  return slot === 0 ? owners.subscriber : owners.account
}
