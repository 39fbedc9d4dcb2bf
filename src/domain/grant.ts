/** The next grant, and the reservation for it. */
import { type Allocation, allocate, hasUnits, moneyOffers } from './allocate.ts'
import { assert, present } from './assert.ts'
import { allocateAcrossBoundary } from './boundary-grant.ts'
import type { BucketRef, FundingSource } from './bucket.ts'
import type { ChargeProgram } from './charge-program.ts'
import { type SettlementWork, writableBucket } from './copy-on-write.ts'
import { appended, EMPTY_RESERVATION, peakPrice, priceOf } from './segment.ts'
import type { MoneyHold, Segment } from './session.ts'
import { peakCharge } from './tariff.ts'
import { FOREVER_MS } from './time.ts'

export function reserveNext(work: SettlementWork, segment: Segment, program: ChargeProgram): void {
  if (program.after) {
    reserveAcross(work, segment, program)
    return
  }
  const { requested, nextOrder } = program
  const plan = allocate(work, segment, nextOrder, requested)
  if (program.exact && plan.unpaid > 0) {
    work.finalUnit = true
    return
  }
  reservePlan(work, segment, nextOrder, plan, requested - plan.unpaid)
}

/** Reserves for usage on either side of the next boundary. */
function reserveAcross(work: SettlementWork, segment: Segment, program: ChargeProgram): void {
  const { requested, nextOrder } = program
  const after = present(program.after, 'boundary')
  const { fromMs, start, digest } = after
  const cover = allocateAcrossBoundary(work, segment, after, nextOrder, requested)
  const { plan, granted, slices, micros, keepsTerms } = cover
  segment.endMs = keepsTerms ? FOREVER_MS : fromMs
  segment.after = keepsTerms ? null : { digest, endMs: start.endMs }
  const cost = Math.max(0, peakPrice(segment, plan.chargedUnits, granted) - segment.counts.charged)
  reservePlan(work, segment, nextOrder, plan, granted)
  for (const { bucket, units } of slices) if (bucket !== null) hold(work, bucket, units)
  const { reservation } = work.service
  const offers = moneyOffers(work, segment, nextOrder)
  const money = holdMoney(work, offers, micros - cost, reservation.money)
  work.service.reservation = { units: granted, slices: [...plan.slices, ...slices], money }
}

/** Reserves the units of a plan and the money that they may cost. */
function reservePlan(
  work: SettlementWork,
  segment: Segment,
  order: readonly FundingSource[],
  plan: Allocation,
  granted: number,
): void {
  const { pricing, counts } = segment
  const includedMicros = peakCharge(
    pricing.tariff,
    counts.includedMoneyUnits,
    counts.includedMoneyUnits + plan.includedMoneyUnits,
    false,
    counts.carried?.covered,
  )
  const charged = peakPrice(segment, plan.chargedUnits, granted)
  for (const { bucket, units } of plan.slices) {
    if (bucket !== null) hold(work, bucket, units)
  }
  const covering = includedMicros - counts.includedMicros
  const groupHolds = holdMoney(work, plan.groupMoney, covering, EMPTY_RESERVATION.money)
  const money = holdMoney(work, plan.money, charged - counts.charged, groupHolds)
  work.granted = granted
  work.service.reservation = { units: granted, slices: plan.slices, money }
  work.finalUnit = plan.unpaid > 0 || isLast(work, segment, plan, order)
}

/** Whether no further grant is possible after this one. */
function isLast(
  work: SettlementWork,
  segment: Segment,
  plan: Allocation,
  order: readonly FundingSource[],
): boolean {
  if (hasUnits(work, segment, order)) return false
  const { pricing, fundingSources, isPrepaid, counts: now } = segment
  const { carried, access } = now
  const used = now.used + work.granted
  const chargedUnits = now.chargedUnits + plan.chargedUnits
  const includedMoneyUnits = now.includedMoneyUnits + plan.includedMoneyUnits
  const charged = priceOf(segment, chargedUnits, used)
  const counts = { carried, access, used, includedMoneyUnits, chargedUnits, charged }
  return allocate(work, { pricing, fundingSources, isPrepaid, counts }, order, 1).unpaid > 0
}

/** Reserves `cost` in the offered buckets, and appends the holds to the existing ones. */
function holdMoney(
  work: SettlementWork,
  offers: readonly MoneyHold[],
  cost: number,
  before: MoneyHold[],
): MoneyHold[] {
  let holds = before
  let left = Math.max(0, cost)
  for (const { source, micros: offered } of offers) {
    const micros = Math.min(left, offered)
    if (micros === 0) continue
    left -= micros
    hold(work, source, micros)
    if (source.limitCounter !== null) hold(work, source.limitCounter, micros)
    holds = appended(holds, { source, micros })
  }
  assert(left === 0, 'a grant costs more than its funding sources contain')
  return holds
}

function hold(work: SettlementWork, ref: BucketRef, amount: number): void {
  const bucket = writableBucket(work, ref)
  bucket.free -= amount
  bucket.reserved += amount
  work.bucketsEndMs = Math.min(work.bucketsEndMs, bucket.toMs)
}
