/**
 * Grants whose usage may fall on both sides of the next time boundary. Computes the highest cost
 * over all possible splits, so that it can be reserved in full.
 */
import { type Allocation, allocate, moneyOffers } from './allocate.ts'
import { type FundingSource, type OwnerState, withBuckets } from './bucket.ts'
import type { AfterBoundary, SettleState } from './charge-program.ts'
import { findBucket } from './copy-on-write.ts'
import {
  continuePrice,
  isSameTariff,
  pricedPosition,
  START_POSITION,
  soldUnits,
} from './price-continuation.ts'
import { modelOf } from './pricing/models.ts'
import { UNLIMITED } from './pricing/tier.ts'
import { type PricedSegment, peakOfOthers, peakPrice, priceOf } from './segment.ts'
import type { Segment, ServiceSession, Slice } from './session.ts'
import { charge, largestFitting, PriceRangeError, peakCharge, type Tariff } from './tariff.ts'
import { withTerms } from './tariff-terms.ts'

/** A grant, and the additional reservation for its usage after the boundary. */
export interface BoundaryGrant {
  plan: Allocation
  granted: number
  /** Units of prepaid buckets in addition to those of the plan. */
  slices: Slice[]
  /** Micros in addition to the current cost of the segment, for both sides of the boundary. */
  micros: number
  /** Whether the units keep their terms after the boundary, which they are not reserved for. */
  keepsTerms: boolean
}

/** Bounds on charged units: before the boundary, after it, and in total. */
interface PricedUnits {
  before: number
  after: number
  total: number
}

export function allocateAcrossBoundary(
  work: SettleState,
  segment: Segment,
  after: AfterBoundary,
  order: readonly FundingSource[],
  requested: number,
): BoundaryGrant {
  const boundary = new BoundaryAllocation(work, segment, after, order)
  const possible = requested - allocate(work, segment, order, requested).unpaid
  const covered = boundary.most(possible)
  if (covered !== null) return covered
  // If not even one unit can be paid after the boundary, the validity time limits the grant.
  const plan = allocate(work, segment, order, possible)
  const micros = peakPrice(segment, plan.chargedUnits, possible) - segment.counts.charged
  return { plan, granted: possible, slices: [], micros, keepsTerms: true }
}

class BoundaryAllocation {
  readonly #work: SettleState
  readonly #segment: Segment
  readonly #order: readonly FundingSource[]
  readonly #next: PricedSegment
  readonly #later: SettleState
  readonly #hasGroups: boolean
  readonly #isSameRate: boolean
  /** Money that is available now. */
  readonly #budget: number

  constructor(
    work: SettleState,
    segment: Segment,
    after: AfterBoundary,
    order: readonly FundingSource[],
  ) {
    const { service } = work
    const { start } = after
    this.#work = work
    this.#segment = segment
    this.#order = order
    this.#isSameRate = start.pricing.rateKey === segment.pricing.rateKey
    this.#later = {
      service,
      subscriber: withCounters(work.subscriber, after.subscriber),
      account: after.account && withCounters(work.account ?? after.account, after.account),
    }
    this.#next = nextOf(segment, service, after)
    this.#hasGroups = [...segment.fundingSources, ...start.fundingSources].some(
      ({ isGroup }) => isGroup,
    )
    const offers = moneyOffers(work, segment, order)
    this.#budget = offers.reduce((sum, { micros }) => sum + micros, 0)
  }

  /** The largest grant that can be covered; null if none can. */
  most(possible: number): BoundaryGrant | null {
    const whole = possible === 0 ? null : this.#cover(possible)
    if (whole !== null || possible === 0) return whole
    const units = largestFitting(possible, (tried) => this.#cover(tried) !== null)
    return units === 0 ? null : this.#cover(units)
  }

  /** Covers every position of the boundary within the usage. Null if the credit is too low. */
  #cover(granted: number): BoundaryGrant | null {
    const work = this.#work
    const later = this.#later
    const segment = this.#segment
    const next = this.#next
    const order = this.#order
    const plan = allocate(work, segment, order, granted)
    const then = this.#hasGroups ? allocate(later, next, order, granted) : plan
    if (plan.unpaid + then.unpaid > 0) return null
    const total = Math.max(plan.chargedUnits, then.chargedUnits)
    const chargedUnits = { before: plan.chargedUnits, after: then.chargedUnits, total }
    const micros = this.#peak(chargedUnits, granted)
    const slices = then === plan ? [] : additionalSlices(later, plan, then)
    return micros > this.#budget ? null : { plan, granted, slices, micros, keepsTerms: false }
  }

  #peak(units: PricedUnits, granted: number): number {
    try {
      return this.#peakWithin(units, granted)
    } catch (error) {
      if (error instanceof PriceRangeError) return Number.POSITIVE_INFINITY
      throw error
    }
  }

  #peakWithin(units: PricedUnits, granted: number): number {
    const segment = this.#segment
    const next = this.#next
    const isSame = segment.pricing.others.every((other, index) => {
      const then = next.pricing.others[index]
      return then !== undefined && isSameTariff(other.tariff, then.tariff)
    })
    const cut = next.pricing.others.map((other) => ({ ...other, tariff: cutAtTiers(other.tariff) }))
    const pricing = { tariff: next.pricing.tariff, others: cut }
    const after = isSame ? 0 : peakOfOthers({ ...next, pricing }, granted)
    const others = peakOfOthers(segment, granted) + after
    const { chargedUnits, used } = segment.counts
    return this.#peakOfRetail(units) + others - priceOf(segment, chargedUnits, used)
  }

  #peakOfRetail(units: PricedUnits): number {
    const segment = this.#segment
    const { tariff: next } = this.#next.pricing
    const { tariff } = segment.pricing
    const { chargedUnits: from, access, carried } = segment.counts
    const { total } = units
    if (this.#isSameRate && isSameTariff(tariff, next)) {
      return peakCharge(tariff, from, from + total, access, carried?.priced)
    }
    if (!isFew(units) && (crossesTiers(tariff) || crossesTiers(next))) {
      return this.#highest(units)
    }
    let peak = 0
    for (const before of splitsOf(segment, next, units)) {
      peak = Math.max(peak, this.#splitAt(before, Math.min(units.after, total - before)))
    }
    const isKnown = isFew(units) || hasSteps(tariff, next)
    return peak + (isKnown ? 0 : highestIntervalPrice(next))
  }

  /** An upper bound: both sides at their highest. */
  #highest({ before, total }: PricedUnits): number {
    const { pricing, counts } = this.#segment
    const { tariff } = pricing
    const { chargedUnits: from, access, carried } = counts
    const { tariff: next } = this.#next.pricing
    const reached = (carried?.priced.at ?? 0) + (carried?.priced.before ?? 0) + from
    const position = { ...START_POSITION, at: this.#isSameRate ? reached : 0 }
    const isBorne = this.#work.service.accessCharged
    return (
      peakCharge(tariff, from, from + before, access, carried?.priced) +
      peakCharge(cutAtTiers(next), 0, total, !isBorne, position)
    )
  }

  /** Micros for the given numbers of charged units before and after the boundary. */
  #splitAt(before: number, after: number): number {
    const { pricing, counts } = this.#segment
    const { tariff: next } = this.#next.pricing
    const work = this.#work
    const { tariff } = pricing
    const { access, carried } = counts
    const chargedUnits = counts.chargedUnits + before
    const sum = peakCharge(tariff, counts.chargedUnits, chargedUnits, access, carried?.priced)
    if (after === 0) return sum
    const isBorne = work.service.accessCharged || (access && chargedUnits > 0)
    const ended = { access, chargedUnits, carried }
    const position = this.#isSameRate ? pricedPosition(tariff, ended, next) : null
    return sum + peakCharge(next, 0, after, !isBorne, position)
  }
}

/** The owner with the counters that were opened for the segment after the boundary. */
function withCounters(owner: OwnerState, opened: OwnerState): OwnerState {
  const known = new Set(owner.buckets.map(({ id }) => id))
  const more = opened.buckets.filter(({ id }) => !known.has(id))
  return more.length === 0 ? owner : withBuckets(owner, [...owner.buckets, ...more])
}

/** The segment after the boundary, before any usage. */
function nextOf(
  segment: Segment,
  service: ServiceSession,
  { start }: AfterBoundary,
): PricedSegment {
  const { pricing, counts } = segment
  const othersAccessCharged =
    service.othersAccessCharged || (counts.used > 0 && pricing.others.length > 0)
  const accessCharged = service.accessCharged || (counts.access && counts.chargedUnits > 0)
  const { carried, others } = continuePrice(segment, start, othersAccessCharged)
  const { fundingSources, isPrepaid } = start
  const nothing = { used: 0, includedMoneyUnits: 0, chargedUnits: 0, charged: 0 }
  return {
    pricing: { tariff: start.pricing.tariff, others },
    fundingSources,
    isPrepaid,
    counts: { carried, access: !accessCharged, ...nothing },
  }
}

/** Units that prepaid buckets would pay after the boundary in excess of those paid before it. */
function additionalSlices(state: SettleState, plan: Allocation, then: Allocation): Slice[] {
  const found: Slice[] = []
  for (const { bucket, units, isCovered } of then.slices) {
    if (bucket === null || findBucket(state, bucket)?.counter !== '') continue
    const own = plan.slices.find((slice) => {
      return slice.bucket?.id === bucket.id && slice.bucket.owner === bucket.owner
    })
    const beyond = units - (own?.units ?? 0)
    if (beyond > 0) found.push({ bucket, units: beyond, isCovered })
  }
  return found
}

/**
 * Candidates for the split with the highest price: the price changes evenly from interval to
 * interval, except at the ends of tiers and at the start of an interval on either side.
 */
function splitsOf(segment: Segment, next: Tariff, units: PricedUnits): Set<number> {
  const { pricing, counts } = segment
  const { tariff } = pricing
  const { total, before } = units
  if (isFew(units)) return eachSplit(units)
  const position = pricedPosition(tariff, counts, tariff)
  const reached = position.at + position.before
  const ends = (of: Tariff) => tierEnds(of).flatMap((end) => within(end - reached, total))
  const splits = new Set([0, before])
  const add = (split: number) => {
    if (split >= 0 && split <= before) splits.add(split)
  }
  const begins = [Math.min(total, soldUnits(tariff, position)), ...ends(tariff)]
  for (const end of [total, ...ends(next)]) {
    add(end)
    for (const begin of begins) {
      add(begin)
      for (const [interval, then] of pairsOf(tariff, next)) {
        const span = end - begin - 1
        if (span < 0) continue
        const last = Math.floor(span / interval)
        for (const step of [0, last - 1, last, Math.floor((span % then) / interval)]) {
          add(begin + 1 + step * interval)
        }
      }
    }
  }
  return splits
}

/** Up to this number of splits, each one is evaluated. */
const SPLITS_MAX = 64

function isFew({ before }: PricedUnits): boolean {
  return before < SPLITS_MAX
}

function eachSplit({ before }: PricedUnits): Set<number> {
  const splits = new Set<number>()
  for (let split = 0; split <= before; split += 1) splits.add(split)
  return splits
}

function within(end: number, total: number): number[] {
  return end > 0 && end < total ? [end] : []
}

/** With one endless tier all intervals follow each other anyway. */
function crossesTiers({ tiers, terms }: Tariff): boolean {
  const isOne = tiers.length === 1 && tiers[0]?.units === UNLIMITED
  return modelOf(terms).crossesTiers === true && !isOne
}

/** Cut at the ends of its tiers, a price is never lower, wherever its first interval begins. */
function cutAtTiers(tariff: Tariff): Tariff {
  const { terms } = tariff
  if (terms === null || !crossesTiers(tariff)) return tariff
  return withTerms(tariff, { ...terms, method: 'tiered' })
}

/** Ends of the tiers in whole units, counted from the first unit. */
function tierEnds({ tiers, terms }: Tariff): number[] {
  let end = 0
  return tiers.map(({ units }) => {
    end += units
    return Math.floor(end / (terms?.unitScale ?? 1))
  })
}

/** All pairs of an interval of one tariff and an interval of the other, in whole units. */
function pairsOf(one: Tariff, other: Tariff): [number, number][] {
  const thens = intervalsOf(other)
  return intervalsOf(one).flatMap((interval) =>
    thens.map((then): [number, number] => [interval, then]),
  )
}

function intervalsOf({ tiers, terms }: Tariff): number[] {
  const scale = terms?.unitScale ?? 1
  const sizes = tiers.map(({ interval, ceil }) => (ceil ? Math.ceil(interval / scale) : 1))
  return [...new Set(sizes)]
}

/** Whether in each pair one interval is a multiple of the other, so that all peaks are known. */
function hasSteps(one: Tariff, other: Tariff): boolean {
  if ((one.terms?.unitScale ?? 1) !== 1 || (other.terms?.unitScale ?? 1) !== 1) return false
  return pairsOf(one, other).every(([size, then]) => size % then === 0 || then % size === 0)
}

/** An upper bound of the amount by which a peak between the candidates can exceed them. */
function highestIntervalPrice(tariff: Tariff): number {
  const { tiers, terms } = tariff
  const scale = terms?.unitScale ?? 1
  const prices = tiers.map((tier) => {
    const units = Math.ceil(tier.interval / scale)
    return charge({ ...tariff, tiers: [{ ...tier, units: tier.interval }] }, units, false)
  })
  return Math.max(0, ...prices)
}
