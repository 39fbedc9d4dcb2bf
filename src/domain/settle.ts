/**
 * Settlement: settle(state, program) → (state', grant, lines). The hot path, quotes, the sweep and
 * the tests use it; no other code prices usage or debits balances for it.
 *
 * Order: the reservation is committed up to the used units and the rest is released; overuse is
 * debited, and becomes debt if no bucket can pay; then the next grant is reserved.
 */
import { type Allocation, allocateUsed, fundingSourcesOf } from './allocate.ts'
import { assert, present } from './assert.ts'
import type { BucketRef, FundingSource, OwnerSlot } from './bucket.ts'
import {
  carryMoney,
  carrySlice,
  releaseCarried,
  returnCarried,
  returnToBucket,
} from './carried-reservation.ts'
import type { ChargeProgram, Settlement, SettleState } from './charge-program.ts'
import {
  bucketOf,
  findBucket,
  type SettlementWork,
  writableBucket,
  writableOwner,
} from './copy-on-write.ts'
import { debtorOf } from './debt.ts'
import { reserveNext } from './grant.ts'
import { refund, returnToGroups } from './overcharge.ts'
import {
  copyService,
  EMPTY_RESERVATION,
  endSegment,
  priceOf,
  recordChange,
  recordPayment,
  refresh,
  reportEnd,
  safeTotal,
  startSegment,
} from './segment.ts'
import type { MoneyHold, Reservation, Segment, Slice } from './session.ts'
import { charge } from './tariff.ts'

/**
 * Pure: the input is not changed, and unchanged parts of it are reused in the result. Throws
 * `PriceRangeError` if a price or a total exceeds 2^53; then nothing has changed.
 */
export function settle(state: SettleState, program: ChargeProgram): Settlement {
  const work: SettlementWork = {
    initial: state,
    subscriber: state.subscriber,
    account: state.account,
    service: copyService(state.service),
    granted: 0,
    finalUnit: false,
    bucketsEndMs: Number.POSITIVE_INFINITY,
    changes: [],
    ended: null,
    carriedReservation: EMPTY_RESERVATION,
  }
  const { service } = work
  assert(program.requested === 0 || program.end === 'none', 'a service that ends requests no units')
  if (program.used > 0 || program.isUnused) openForUse(work, program)
  if (service.segment !== null) commitUsed(work, service.segment, program)
  if (program.requested > 0) reserveNext(work, segmentForGrant(work, program), program)
  recordReport(work, program)
  const last = service.segment
  if (last === null) return work
  if (program.end === 'closed' || program.end === 'ended') endSegment(work, last, program.end)
  if (program.end === 'expired') reportEnd(work, last, 'expired')
  return work
}

/** Usage in a later report was used after this report. */
function recordReport({ service }: Settlement, { used, atMs }: ChargeProgram): void {
  if (used > 0) service.reportedMs = 0
  else if (service.segment === null || atMs > service.segment.counts.lastMs) {
    service.reportedMs = Math.max(service.reportedMs, atMs)
  }
}

/** Usage belongs to the segment of its grant; without a grant, to the segment in force now. */
function openForUse(work: SettlementWork, program: ChargeProgram): void {
  const { service } = work
  const isUngranted = service.reservation.units === 0 && program.next !== null
  if (service.segment !== null && isUngranted && service.segment.key !== program.next?.key) {
    endSegment(work, service.segment, 'ended')
  }
  if (service.segment === null) startSegment(service, program, work.ended)
}

function segmentForGrant(work: SettlementWork, program: ChargeProgram): Segment {
  const { service } = work
  const next = present(program.next, 'the next segment')
  if (service.segment !== null && service.segment.key !== next.key) {
    endSegment(work, service.segment, 'ended')
  }
  if (service.segment === null) return startSegment(service, program, work.ended)
  refresh(service.segment, next)
  return service.segment
}

/** Commits the reservation up to the used units, releases the rest and debits overuse. */
function commitUsed(work: SettlementWork, segment: Segment, program: ChargeProgram): void {
  const { reservation } = work.service
  const { counts } = segment
  work.service.reservation = EMPTY_RESERVATION
  const over = commitReserved(work, segment, reservation, program)
  if (over > 0 || program.carriedReservation !== undefined)
    debitOverUse(work, segment, program, over)
  if (program.used === 0) return
  work.service.usedTotal += program.used
  counts.lastMs = Math.max(counts.lastMs, program.atMs)
  counts.late ||= program.end === 'expired'
  segment.version += 1
  recordChange(work, { segment, state: 'open' })
}

/** Returns the units used beyond the reservation. */
function commitReserved(
  work: SettlementWork,
  segment: Segment,
  reservation: Reservation,
  program: ChargeProgram,
): number {
  const { used } = program
  const { counts } = segment
  const granted = Math.min(used, reservation.units)
  let left = granted
  for (const slice of reservation.slices) {
    const taken = Math.min(left, slice.units)
    left -= taken
    if (slice.bucket === null) {
      countUnits(segment, slice, taken)
      if (program.carriesReservation && !slice.isCovered)
        carrySlice(work, slice, slice.units - taken)
      continue
    }
    const bucket = writableBucket(work, slice.bucket)
    const keeps = program.carriesReservation === true && bucket.counter === ''
    const rest = keeps ? 0 : slice.units - taken
    bucket.reserved -= taken + rest
    bucket.spent += taken
    returnToBucket(bucket, rest, segment, program.atMs)
    if (keeps) carrySlice(work, slice, slice.units - taken)
    if (bucket.counter !== '') counts.includedUnits += taken
    recordPayment(segment, slice.bucket, bucket, taken, 'units')
  }
  counts.used = safeTotal(counts.used + granted, 'usage of a segment')
  const { money } = reservation
  const covered = releaseHolds(work, segment, money, true, coveredCost(work, segment), program)
  const cost = releaseHolds(work, segment, money, false, priceCost(work, segment), program)
  assert(covered === 0 && cost === 0, 'the reservation holds less than its units cost')
  return used - granted
}

function countUnits({ counts }: Segment, { isCovered }: Slice, units: number): void {
  if (isCovered) counts.includedMoneyUnits += units
  else counts.chargedUnits += units
}

/** Cost of the units paid by included money, beyond the amount already paid. */
function coveredCost(work: SettlementWork, segment: Segment): number {
  const { pricing, counts } = segment
  const micros = charge(pricing.tariff, counts.includedMoneyUnits, false, counts.carried?.covered)
  const cost = micros - counts.includedMicros
  counts.includedMicros = micros
  if (cost >= 0) return cost
  returnToGroups(work, segment, -cost)
  return 0
}

/** Cost of the segment beyond the amount already charged. A decrease is returned immediately. */
function priceCost(work: SettlementWork, segment: Segment): number {
  const { counts } = segment
  const price = priceOf(segment, counts.chargedUnits, counts.used)
  const cost = price - counts.charged
  counts.charged = price
  if (cost >= 0) return cost
  refund(work, segment, -cost)
  return 0
}

/**
 * Pays the cost from the holds of groups, or from the other holds, and releases the rest. Returns
 * the unpaid part.
 */
function releaseHolds(
  work: SettlementWork,
  segment: Segment,
  holds: readonly MoneyHold[],
  ofGroups: boolean,
  cost: number,
  { carriesReservation, atMs }: ChargeProgram,
): number {
  let left = cost
  for (const { source, micros } of holds) {
    if (source.isGroup !== ofGroups) continue
    const taken = Math.min(left, micros)
    left -= taken
    const isCarried =
      carriesReservation === true && micros > taken && bucketOf(work, source).counter === ''
    const released = isCarried ? taken : micros
    if (isCarried) carryMoney(work, source, micros - taken)
    release(work, segment, source, 'money', released, taken, atMs)
    const { limitCounter } = source
    if (limitCounter !== null) release(work, segment, limitCounter, 'limit', released, taken, atMs)
  }
  return left
}

function release(
  work: SettlementWork,
  segment: Segment,
  ref: BucketRef,
  kind: 'money' | 'limit',
  micros: number,
  taken: number,
  atMs: number,
): void {
  const bucket = writableBucket(work, ref)
  bucket.reserved -= micros
  bucket.spent = safeTotal(bucket.spent + taken, 'the amount paid by a bucket')
  returnToBucket(bucket, micros - taken, segment, atMs)
  recordPayment(segment, ref, bucket, taken, kind)
}

/** Reservations carried over a boundary pay first; the rest is released or carried on. */
function debitOverUse(
  work: SettlementWork,
  segment: Segment,
  program: ChargeProgram,
  units: number,
): void {
  const order = segment.key === program.next?.key ? program.nextOrder : program.order
  const carried = program.carriedReservation ?? EMPTY_RESERVATION
  const plan = allocateUsed(work, segment, order, units, carried)
  const holds = releaseCarried(work, carried)
  debitPlan(work, segment, order, plan, units, program.ended)
  for (const hold of holds) returnCarried(work, segment, program, hold)
}

function debitPlan(
  work: SettlementWork,
  segment: Segment,
  order: readonly FundingSource[],
  plan: Allocation,
  units: number,
  ended: readonly FundingSource[] = [],
): void {
  const { counts } = segment
  for (const slice of plan.slices) {
    if (slice.bucket === null) {
      countUnits(segment, slice, slice.units)
      continue
    }
    const bucket = writableBucket(work, slice.bucket)
    bucket.free -= slice.units
    bucket.spent += slice.units
    if (bucket.counter !== '') counts.includedUnits += slice.units
    recordPayment(segment, slice.bucket, bucket, slice.units, 'units')
  }
  counts.chargedUnits += plan.unpaid
  counts.used = safeTotal(counts.used + units, 'usage of a segment')
  takeMoney(work, segment, plan.groupMoney, coveredCost(work, segment))
  let cost = takeMoney(work, segment, plan.money, priceCost(work, segment))
  if (cost === 0) return
  // Only grants respect the credit limit, so overuse is debited to a bucket with a limit.
  const sources = fundingSourcesOf(segment, order)
  const carrier = sources.find((source) => carriesOverUse(work, source))
  if (carrier !== undefined) cost -= debitMoney(work, segment, carrier, cost)
  if (cost > 0) owe(work, segment, debtorOf(work, sources, ended), cost)
}

function owe(work: SettlementWork, segment: Segment, debtor: OwnerSlot, micros: number): void {
  const owner = writableOwner(work, debtor)
  owner.owed = safeTotal(owner.owed + micros, 'debt')
  segment.counts.debt += micros
  if (debtor === 1) segment.counts.accountDebt += micros
}

function carriesOverUse(work: SettlementWork, source: FundingSource): boolean {
  const bucket = findBucket(work, source)
  return bucket !== undefined && bucket.kind !== 'units' && bucket.limit !== 0
}

/** Returns the unpaid part of the cost. */
function takeMoney(
  work: SettlementWork,
  segment: Segment,
  offers: readonly MoneyHold[],
  cost: number,
): number {
  let left = cost
  for (const { source, micros } of offers) {
    if (left === 0) break
    left -= debitMoney(work, segment, source, Math.min(left, micros))
  }
  return left
}

function debitMoney(
  work: SettlementWork,
  segment: Segment,
  source: FundingSource,
  micros: number,
): number {
  debit(work, segment, source, 'money', micros)
  // The limit counter of an old cycle may have been dropped while the segment is still in use.
  const { limitCounter } = source
  if (limitCounter !== null && findBucket(work, limitCounter) !== undefined) {
    debit(work, segment, limitCounter, 'limit', micros)
  }
  return micros
}

function debit(
  work: SettlementWork,
  segment: Segment,
  ref: BucketRef,
  kind: 'money' | 'limit',
  micros: number,
): void {
  const bucket = writableBucket(work, ref)
  bucket.free -= micros
  bucket.spent = safeTotal(bucket.spent + micros, 'the amount paid by a bucket')
  recordPayment(segment, ref, bucket, micros, kind)
}
