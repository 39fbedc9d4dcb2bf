/**
 * The one settlement (design.md §2): settle(state, program) → (state', grant, lines). The hot path,
 * quotes, the sweep and the tests use it; nothing else prices usage or moves a balance by it.
 *
 * In this order: what was reserved is committed up to what was used and the rest goes back;
 * over-use is debited, and what no bucket can pay becomes debt; only then the next grant is
 * reserved.
 */
import { type Allocation, allocateUsed, payersOf } from './allocate.ts'
import { assert, present } from './assert.ts'
import type { BucketRef, OwnerSlot, Payer } from './bucket.ts'
import type { ChargeProgram, Settlement, SettleState } from './charge-program.ts'
import { bucketOf, findBucket, ownBucket, ownOwner, type SettlementDraft } from './copy-on-write.ts'
import { debtorOf } from './debt.ts'
import { refund, returnToGroups } from './give-back.ts'
import { reserveNext } from './grant.ts'
import { giveBack, keepMoney, keepSlice, releaseHeld, returnHeld } from './held.ts'
import {
  copyService,
  countable,
  endSegment,
  NOTHING_HELD,
  noteChange,
  pay,
  priceOf,
  refresh,
  reportEnd,
  startSegment,
} from './segment.ts'
import type { MoneyHold, Reservation, Segment, Slice } from './session.ts'
import { charge } from './tariff.ts'

/**
 * Pure: what is handed in stays as it is, and what has not changed of it is part of the result.
 * Throws `PriceRangeError` if a price or a total leaves 2^53; then nothing has moved.
 */
export function settle(state: SettleState, program: ChargeProgram): Settlement {
  const work: SettlementDraft = {
    from: state,
    subscriber: state.subscriber,
    account: state.account,
    service: copyService(state.service),
    granted: 0,
    finalUnit: false,
    bucketsEndMs: Number.POSITIVE_INFINITY,
    changes: [],
    ended: null,
    kept: NOTHING_HELD,
  }
  const { service } = work
  assert(program.requested === 0 || program.end === 'none', 'a service that ends asks for nothing')
  if (program.used > 0 || program.isUnused) openForUse(work, program)
  if (service.segment !== null) commitUsed(work, service.segment, program)
  if (program.requested > 0) reserveNext(work, segmentForGrant(work, program), program)
  noteReport(work, program)
  const last = service.segment
  if (last === null) return work
  if (program.end === 'closed' || program.end === 'ended') endSegment(work, last, program.end)
  if (program.end === 'expired') reportEnd(work, last, 'expired')
  return work
}

/** Usage that is reported later began to be used after this report, and not before. */
function noteReport({ service }: Settlement, { used, atMs }: ChargeProgram): void {
  if (used > 0 || service.segment === null) service.reportedMs = 0
  else if (atMs > service.segment.lastMs) {
    service.reportedMs = Math.max(service.reportedMs, atMs)
  }
}

/** Usage belongs to the segment that granted it; without a grant, to the one that holds now. */
function openForUse(work: SettlementDraft, program: ChargeProgram): void {
  const { service } = work
  const isUngranted = service.reservation.units === 0 && program.next !== null
  if (service.segment !== null && isUngranted && service.segment.key !== program.next?.key) {
    endSegment(work, service.segment, 'ended')
  }
  if (service.segment === null) startSegment(service, program, work.ended)
}

function segmentForGrant(work: SettlementDraft, program: ChargeProgram): Segment {
  const { service } = work
  const next = present(program.next, 'the next segment')
  if (service.segment !== null && service.segment.key !== next.key) {
    endSegment(work, service.segment, 'ended')
  }
  if (service.segment === null) return startSegment(service, program, work.ended)
  refresh(service.segment, next)
  return service.segment
}

/** Commits the reservation up to what was used, returns the rest, debits over-use. */
function commitUsed(work: SettlementDraft, segment: Segment, program: ChargeProgram): void {
  const { reservation } = work.service
  work.service.reservation = NOTHING_HELD
  const over = commitReserved(work, segment, reservation, program)
  if (over > 0 || program.held !== undefined) debitOverUse(work, segment, program, over)
  if (program.used === 0) return
  work.service.usedTotal += program.used
  segment.lastMs = Math.max(segment.lastMs, program.atMs)
  segment.late ||= program.end === 'expired'
  segment.version += 1
  noteChange(work, { segment, state: 'open' })
}

/** Returns the units that were used beyond the reservation. */
function commitReserved(
  work: SettlementDraft,
  segment: Segment,
  reservation: Reservation,
  program: ChargeProgram,
): number {
  const { used } = program
  const granted = Math.min(used, reservation.units)
  let left = granted
  for (const slice of reservation.slices) {
    const taken = Math.min(left, slice.units)
    left -= taken
    if (slice.bucket === null) {
      countUnits(segment, slice, taken)
      if (program.keeps && !slice.isCovered) keepSlice(work, slice, slice.units - taken)
      continue
    }
    const bucket = ownBucket(work, slice.bucket)
    const keeps = program.keeps === true && bucket.counter === ''
    const rest = keeps ? 0 : slice.units - taken
    bucket.reserved -= taken + rest
    bucket.spent += taken
    giveBack(bucket, rest, segment, program.atMs)
    if (keeps) keepSlice(work, slice, slice.units - taken)
    if (bucket.counter !== '') segment.grouped += taken
    pay(segment, slice.bucket, bucket, taken, 'units')
  }
  segment.used = countable(segment.used + granted, 'usage of a segment')
  const { money } = reservation
  const covered = releaseHolds(work, segment, money, true, coveredCost(work, segment), program)
  const cost = releaseHolds(work, segment, money, false, priceCost(work, segment), program)
  assert(covered === 0 && cost === 0, 'the reservation holds less than its units cost')
  return used - granted
}

function countUnits(segment: Segment, { isCovered }: Slice, units: number): void {
  if (isCovered) segment.covered += units
  else segment.priced += units
}

/** What the covered units cost beyond what was taken for them. */
function coveredCost(work: SettlementDraft, segment: Segment): number {
  const micros = charge(segment.tariff, segment.covered, false, segment.carried?.covered)
  const cost = micros - segment.coveredMicros
  segment.coveredMicros = micros
  if (cost >= 0) return cost
  returnToGroups(work, segment, -cost)
  return 0
}

/** What the segment costs beyond what was charged; what it costs less is given back at once. */
function priceCost(work: SettlementDraft, segment: Segment): number {
  const price = priceOf(segment, segment.priced, segment.used)
  const cost = price - segment.charged
  segment.charged = price
  if (cost >= 0) return cost
  refund(work, segment, -cost)
  return 0
}

/**
 * Takes the cost out of what groups hold, or out of the rest, and gives what is left back. Returns
 * what was not held.
 */
function releaseHolds(
  work: SettlementDraft,
  segment: Segment,
  holds: readonly MoneyHold[],
  ofGroups: boolean,
  cost: number,
  { keeps, atMs }: ChargeProgram,
): number {
  let left = cost
  for (const { payer, micros } of holds) {
    if (payer.isGroup !== ofGroups) continue
    const taken = Math.min(left, micros)
    left -= taken
    const isKept = keeps === true && micros > taken && bucketOf(work, payer).counter === ''
    const held = isKept ? taken : micros
    if (isKept) keepMoney(work, payer, micros - taken)
    release(work, segment, payer, 'money', held, taken, atMs)
    const { alsoIn } = payer
    if (alsoIn !== null) release(work, segment, alsoIn, 'limit', held, taken, atMs)
  }
  return left
}

function release(
  work: SettlementDraft,
  segment: Segment,
  ref: BucketRef,
  kind: 'money' | 'limit',
  micros: number,
  taken: number,
  atMs: number,
): void {
  const bucket = ownBucket(work, ref)
  bucket.reserved -= micros
  bucket.spent = countable(bucket.spent + taken, 'what a bucket has paid')
  giveBack(bucket, micros - taken, segment, atMs)
  pay(segment, ref, bucket, taken, kind)
}

/** Reservations held across a boundary pay first; the rest is returned or stays held. */
function debitOverUse(
  work: SettlementDraft,
  segment: Segment,
  program: ChargeProgram,
  units: number,
): void {
  const order = segment.key === program.next?.key ? program.nextOrder : program.order
  const held = program.held ?? NOTHING_HELD
  const plan = allocateUsed(work, segment, order, units, held)
  const heldBack = releaseHeld(work, held)
  debitPlan(work, segment, order, plan, units, program.ended)
  for (const hold of heldBack) returnHeld(work, segment, program, hold)
}

function debitPlan(
  work: SettlementDraft,
  segment: Segment,
  order: readonly Payer[],
  plan: Allocation,
  units: number,
  ended: readonly Payer[] = [],
): void {
  for (const slice of plan.slices) {
    if (slice.bucket === null) {
      countUnits(segment, slice, slice.units)
      continue
    }
    const bucket = ownBucket(work, slice.bucket)
    bucket.free -= slice.units
    bucket.spent += slice.units
    if (bucket.counter !== '') segment.grouped += slice.units
    pay(segment, slice.bucket, bucket, slice.units, 'units')
  }
  segment.priced += plan.left
  segment.used = countable(segment.used + units, 'usage of a segment')
  takeMoney(work, segment, plan.groupMoney, coveredCost(work, segment))
  let cost = takeMoney(work, segment, plan.money, priceCost(work, segment))
  if (cost === 0) return
  // Only grants respect the credit limit: a bucket that has one carries the rest of the over-use.
  const payers = payersOf(segment, order)
  const carrier = payers.find((payer) => carriesOverUse(work, payer))
  if (carrier !== undefined) cost -= debitMoney(work, segment, carrier, cost)
  if (cost > 0) owe(work, segment, debtorOf(work, payers, ended), cost)
}

function owe(work: SettlementDraft, segment: Segment, debtor: OwnerSlot, micros: number): void {
  const owner = ownOwner(work, debtor)
  owner.owed = countable(owner.owed + micros, 'debt')
  segment.debt += micros
  if (debtor === 1) segment.accountDebt += micros
}

function carriesOverUse(work: SettlementDraft, payer: Payer): boolean {
  const bucket = findBucket(work, payer)
  return bucket !== undefined && bucket.kind !== 'units' && bucket.limit !== 0
}

/** Returns what the money did not reach for. */
function takeMoney(
  work: SettlementDraft,
  segment: Segment,
  offers: readonly MoneyHold[],
  cost: number,
): number {
  let left = cost
  for (const { payer, micros } of offers) {
    if (left === 0) break
    left -= debitMoney(work, segment, payer, Math.min(left, micros))
  }
  return left
}

function debitMoney(work: SettlementDraft, segment: Segment, payer: Payer, micros: number): number {
  debit(work, segment, payer, 'money', micros)
  // The limit of an old cycle may be gone while the segment is still used on.
  const { alsoIn } = payer
  if (alsoIn !== null && findBucket(work, alsoIn) !== undefined) {
    debit(work, segment, alsoIn, 'limit', micros)
  }
  return micros
}

function debit(
  work: SettlementDraft,
  segment: Segment,
  ref: BucketRef,
  kind: 'money' | 'limit',
  micros: number,
): void {
  const bucket = ownBucket(work, ref)
  bucket.free -= micros
  bucket.spent = countable(bucket.spent + micros, 'what a bucket has paid')
  pay(segment, ref, bucket, micros, kind)
}
