/**
 * Allocates requested or used units to funding sources: groups first, then buckets or credit, in
 * order.
 */
import { availableIn, type Bucket, type BucketRef, type FundingSource } from './bucket.ts'
import type { SettleState } from './charge-program.ts'
import { findBucket } from './copy-on-write.ts'
import { appended, EMPTY_RESERVATION, type PricedSegment, peakPrice } from './segment.ts'
import type { Carried } from './segment-parts.ts'
import type { MoneyHold, Reservation, Slice } from './session.ts'
import {
  affordable,
  charge,
  isFree,
  largestFitting,
  type PricePosition,
  type Tariff,
} from './tariff.ts'

/** How units are paid: slices in order of use, and the money that may be drawn on for them. */
export interface Allocation {
  slices: Slice[]
  /**
   * Money of groups for units paid by included money; money of buckets or credit for charged units.
   */
  groupMoney: MoneyHold[]
  money: MoneyHold[]
  /** Units of the slices that are paid by included money, and charged units. */
  includedMoneyUnits: number
  chargedUnits: number
  /** Units that no funding source can pay. */
  unpaid: number
}

/** Allocates the units that may be granted: everything that is allocated can be paid. */
export function allocate(
  work: SettleState,
  segment: PricedSegment,
  order: readonly FundingSource[],
  units: number,
): Allocation {
  const plan = allocateUsed(work, segment, order, units)
  if (!hasAdded(segment)) return plan
  // Other categories price every unit, including those in groups, so their cost has to be payable
  // too.
  const fits = (tried: number) => isPaid(segment, allocateUsed(work, segment, order, tried), tried)
  const possible = units - plan.unpaid
  if (possible === 0 || fits(possible)) return plan
  const most = largestFitting(possible, fits)
  return { ...allocateUsed(work, segment, order, most), unpaid: units - most }
}

/** Whether the customer also pays the price of another tariff category. */
function hasAdded({ pricing }: PricedSegment): boolean {
  for (const { isAdded } of pricing.others) if (isAdded) return true
  return false
}

/**
 * Whether a bucket or counter of units could pay for one more unit, whatever its price. If not,
 * money still may.
 */
export function hasUnits(
  work: SettleState,
  segment: PricedSegment,
  order: readonly FundingSource[],
): boolean {
  // Other categories are paid with money, and free usage debits no bucket.
  if (hasAdded(segment)) return false
  for (const source of segment.isPrepaid ? order : segment.fundingSources) {
    const bucket = findBucket(work, source)
    if (bucket?.kind === 'units' && availableOf(work, bucket, source) > 0) return true
  }
  return false
}

function isPaid(segment: PricedSegment, plan: Allocation, units: number): boolean {
  if (plan.unpaid > 0) return false
  const money = plan.money.reduce((sum, { micros }) => sum + micros, 0)
  return peakPrice(segment, plan.chargedUnits, units) - segment.counts.charged <= money
}

/**
 * Walks the funding sources in order. Money that is too little for a whole interval stays in the
 * pool and is added to that of the next source, so that no remainder is stranded. The cost of other
 * categories is ignored: the caller charges it for used units. `reserved`: reservations of earlier
 * segments in prepaid buckets, which pay first.
 */
export function allocateUsed(
  work: SettleState,
  segment: PricedSegment,
  order: readonly FundingSource[],
  units: number,
  reserved: Reservation = EMPTY_RESERVATION,
): Allocation {
  const plan = emptyPlan(units)
  let pool: Pool | null = null
  const { tariff } = segment.pricing
  const { carried, includedMoneyUnits } = segment.counts
  if (carried !== null) allocateSold(segment, carried, plan)
  for (const source of segment.fundingSources) {
    if (!source.isGroup) continue
    const bucket = findBucket(work, source)
    if (bucket === undefined) continue
    if (bucket.kind === 'units') takeUnits(plan, source, availableIn(bucket))
    else {
      pool ??= new Pool(tariff, false, includedMoneyUnits, carried?.covered)
      takeCovered(plan, source, availableIn(bucket), pool)
    }
  }
  if (isFree(tariff)) {
    if (hasAdded(segment)) plan.money = moneyOffers(work, segment, order)
    takePriced(plan, plan.unpaid)
    return plan
  }
  takePaid(work, segment, order, plan, reserved)
  return plan
}

function emptyPlan(units: number): Allocation {
  const { slices, money } = EMPTY_RESERVATION
  return { slices, groupMoney: money, money, includedMoneyUnits: 0, chargedUnits: 0, unpaid: units }
}

/** Prepaid buckets, or the credit of a postpaid subscriber. */
function takePaid(
  work: SettleState,
  segment: PricedSegment,
  order: readonly FundingSource[],
  plan: Allocation,
  reserved: Reservation,
): void {
  const isHeld = reserved.units > 0 || reserved.money.length > 0
  let pool = isHeld ? takeHeld(segment, plan, reserved) : null
  const needsAll = hasAdded(segment)
  for (const source of fundingSourcesOf(segment, order)) {
    if (plan.unpaid === 0 && !needsAll) return
    const bucket = findBucket(work, source)
    // The counter has been dropped.
    if (bucket === undefined) continue
    const available = availableOf(work, bucket, source)
    if (bucket.kind === 'units') {
      takeUnits(plan, source, available)
    } else {
      // An empty source of money is visited as well: the rest of a begun interval is already paid
      // for.
      if (available > 0) plan.money = appended(plan.money, { source, micros: available })
      pool ??= poolOf(segment)
      takePriced(plan, pool.add(available, plan.chargedUnits, plan.unpaid))
    }
  }
  if (plan.unpaid === 0) return
  pool ??= poolOf(segment)
  takePriced(plan, pool.add(0, plan.chargedUnits, plan.unpaid))
}

function takeHeld(segment: PricedSegment, plan: Allocation, reserved: Reservation): Pool {
  const pool = poolOf(segment)
  for (const hold of reserved.money) {
    plan.money = appended(plan.money, hold)
    pool.add(hold.micros, plan.chargedUnits, 0)
  }
  for (const { bucket, units } of reserved.slices) {
    if (bucket !== null) takeUnits(plan, bucket, units)
    else takePriced(plan, pool.add(0, plan.chargedUnits, Math.min(plan.unpaid, units)))
  }
  return pool
}

/** All the money available for units that no group includes. */
export function moneyOffers(
  work: SettleState,
  segment: PricedSegment,
  order: readonly FundingSource[],
): MoneyHold[] {
  const offers: MoneyHold[] = []
  for (const source of fundingSourcesOf(segment, order)) {
    const bucket = findBucket(work, source)
    if (bucket === undefined || bucket.kind === 'units') continue
    const available = availableOf(work, bucket, source)
    if (available > 0) offers.push({ source, micros: available })
  }
  return offers
}

/** The rest of an interval that an earlier segment began is already paid for. */
function allocateSold({ counts }: PricedSegment, carried: Carried, plan: Allocation): void {
  const includedMoneyUnits = Math.min(plan.unpaid, carried.coveredSold - counts.includedMoneyUnits)
  if (includedMoneyUnits > 0) {
    addSlice(plan, includedMoneyUnits, true)
    plan.includedMoneyUnits += includedMoneyUnits
  }
  takePriced(plan, Math.max(0, Math.min(plan.unpaid, carried.pricedSold - counts.chargedUnits)))
}

/** Funding sources for units that no group includes. */
export function fundingSourcesOf(
  segment: PricedSegment,
  order: readonly FundingSource[],
): readonly FundingSource[] {
  return segment.isPrepaid ? order : segment.fundingSources.filter(({ isGroup }) => !isGroup)
}

/** The amount available in the bucket of a funding source, within its limit counter. */
function availableOf(work: SettleState, bucket: Bucket, { limitCounter }: FundingSource): number {
  const available = availableIn(bucket)
  const limit = limitCounter === null ? undefined : findBucket(work, limitCounter)
  return limit === undefined ? available : Math.min(available, availableIn(limit))
}

/** A pool of money, and the units that it buys on top of those already priced. */
class Pool {
  #micros = 0
  readonly #charged: number
  readonly #tariff: Tariff
  readonly #access: boolean
  readonly #units: number
  readonly #position: PricePosition | undefined

  constructor(tariff: Tariff, access: boolean, units: number, position: PricePosition | undefined) {
    this.#tariff = tariff
    this.#access = access
    this.#units = units
    this.#position = position
    this.#charged = charge(tariff, units, access, position)
  }

  /** Adds money. Returns the units that the pool buys beyond `taken`, at most `cap`. */
  add(micros: number, taken: number, cap: number): number {
    this.#micros += micros
    if (cap === 0) return 0
    const tariff = this.#tariff
    const access = this.#access
    const units = this.#units
    const charged = this.#charged
    const position = this.#position
    const most = taken + cap
    const bought = affordable(tariff, access, units, charged, this.#micros, most, position)
    return Math.max(0, bought - taken)
  }
}

/** The pool of money for units that no group includes. */
function poolOf({ pricing, counts }: PricedSegment): Pool {
  const { access, chargedUnits, carried } = counts
  return new Pool(pricing.tariff, access, chargedUnits, carried?.priced)
}

function takeUnits(plan: Allocation, { owner, id }: BucketRef, available: number): void {
  const units = Math.min(available, plan.unpaid)
  if (units === 0) return
  plan.slices = appended(plan.slices, { bucket: { owner, id }, units, isCovered: false })
  plan.unpaid -= units
}

function takeCovered(plan: Allocation, source: FundingSource, available: number, pool: Pool): void {
  if (available > 0) plan.groupMoney = appended(plan.groupMoney, { source, micros: available })
  const units = pool.add(available, plan.includedMoneyUnits, plan.unpaid)
  addSlice(plan, units, true)
  plan.includedMoneyUnits += units
}

function takePriced(plan: Allocation, units: number): void {
  addSlice(plan, units, false)
  plan.chargedUnits += units
}

function addSlice(plan: Allocation, units: number, isCovered: boolean): void {
  if (units === 0) return
  const last = plan.slices.at(-1)
  if (last !== undefined && last.bucket === null && last.isCovered === isCovered) {
    last.units += units
  } else {
    plan.slices = appended(plan.slices, { bucket: null, units, isCovered })
  }
  plan.unpaid -= units
}
