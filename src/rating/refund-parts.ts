/** Splits a part of the usage or the cost off the segment of an event. Pure. */
import { isGroupCounter } from '../domain/counters.ts'
import { type Counts, newCounts } from '../domain/counts.ts'
import { UNLIMITED } from '../domain/pricing/tier.ts'
import { copySegment, priceOf } from '../domain/segment.ts'
import { type Payment, withTariffs } from '../domain/segment-parts.ts'
import type { Segment, SegmentStart } from '../domain/session.ts'
import { charge, type Tariff } from '../domain/tariff.ts'

export interface SplitSegment {
  /** The refunded part, as a segment of its own. */
  refunded: Segment
  /** The part that stays charged. */
  remaining: Segment
}

/** One micro per unit. */
export const ONE_MICRO_PER_UNIT: Tariff = oneInterval(1, 1)

/** A tariff by which `units` cost exactly `micros`, so that the line can be recomputed. */
function oneInterval(units: number, micros: number): Tariff {
  const tiers = [{ units: UNLIMITED, interval: units, price: micros, ceil: true }]
  return { tiers, access: 0, extraDigits: 0, terms: null }
}

/**
 * Splits off `units`, which are fewer than were used. The rest costs its own price, but never more
 * than before. Refunds charged units first, then units paid by included money, then units of groups
 * and buckets.
 */
export function splitUnits(segment: Segment, units: number): SplitSegment {
  const remaining = copySegment(segment)
  const refunded = emptyRefund(segment)
  const [before, left, taken] = [segment.counts, remaining.counts, refunded.counts]
  let { tariff } = segment.pricing
  const chargedUnits = Math.min(units, before.chargedUnits)
  const includedMoneyUnits = Math.min(units - chargedUnits, before.includedMoneyUnits)
  left.used -= units
  left.chargedUnits -= chargedUnits
  left.includedMoneyUnits -= includedMoneyUnits
  left.charged = Math.min(before.charged, priceOf(remaining, left.chargedUnits, left.used))
  const coveredPrice = charge(tariff, left.includedMoneyUnits, false)
  left.includedMicros = Math.min(before.includedMicros, coveredPrice)
  taken.used = units
  taken.chargedUnits = chargedUnits
  taken.includedMoneyUnits = includedMoneyUnits
  taken.charged = before.charged - left.charged
  taken.includedMicros = before.includedMicros - left.includedMicros
  const money = takePayments(left, isOwnMoney, taken.charged)
  const limits = takePayments(left, ({ kind }) => kind === 'limit', sumOf(money))
  const groupMoney = takePayments(left, isGroupMoney, taken.includedMicros)
  const own = takePayments(
    left,
    ({ kind }) => kind === 'units',
    units - chargedUnits - includedMoneyUnits,
  )
  taken.includedUnits = sumOf(own.filter(({ counter }) => counter !== ''))
  left.includedUnits -= taken.includedUnits
  taken.payments = [...money, ...limits, ...groupMoney, ...own]
  if (chargedUnits > 0) tariff = oneInterval(chargedUnits, taken.charged)
  else if (includedMoneyUnits > 0) tariff = oneInterval(includedMoneyUnits, taken.includedMicros)
  refunded.pricing = withTariffs(segment.pricing, tariff, [])
  return { refunded, remaining }
}

/** Splits off an amount of money, at most the charge. The units stay used. */
export function splitMoney(segment: Segment, micros: number): SplitSegment {
  const remaining = copySegment(segment)
  const refunded = emptyRefund(segment)
  const [left, taken] = [remaining.counts, refunded.counts]
  left.charged -= micros
  const money = takePayments(left, isOwnMoney, micros)
  const limits = takePayments(left, ({ kind }) => kind === 'limit', sumOf(money))
  taken.payments = [...money, ...limits]
  taken.used = micros
  taken.chargedUnits = micros
  taken.charged = micros
  refunded.pricing = withTariffs(segment.pricing, ONE_MICRO_PER_UNIT, [])
  return { refunded, remaining }
}

/** The start of a segment for an amount of money, which is not usage of a rate. */
export function moneyStart(start: SegmentStart): SegmentStart {
  return {
    ...start,
    key: 'refund',
    pricing: withTariffs(start.pricing, ONE_MICRO_PER_UNIT, []),
    hasGroups: false,
    fundingSources: [],
  }
}

/**
 * The remainder of an event for its refund. If an amount of money was refunded before, the tariff
 * no longer yields the charge and is replaced.
 */
export function recomputable(segment: Segment): Segment {
  const { chargedUnits, charged, used } = segment.counts
  if (chargedUnits === 0 || priceOf(segment, chargedUnits, used) === charged) return segment
  const refunded = copySegment(segment)
  refunded.pricing = withTariffs(segment.pricing, oneInterval(chargedUnits, charged), [])
  return refunded
}

function emptyRefund(segment: Segment): Segment {
  const refunded = copySegment(segment)
  const { firstMs, hasGroups, access, carried } = segment.counts
  refunded.counts = newCounts(firstMs, hasGroups, access, carried)
  return refunded
}

function isOwnMoney({ kind, counter }: Payment): boolean {
  return kind === 'money' && !isGroupCounter(counter)
}

function isGroupMoney({ kind, counter }: Payment): boolean {
  return kind === 'money' && isGroupCounter(counter)
}

function sumOf(payments: readonly Payment[]): number {
  let sum = 0
  for (const { amount } of payments) sum += amount
  return sum
}

/** Removes an amount from the payments, the last one first. */
function takePayments(
  counts: Counts,
  isMeant: (payment: Payment) => boolean,
  amount: number,
): Payment[] {
  const taken: Payment[] = []
  let left = amount
  for (const payment of counts.payments.toReversed()) {
    if (left === 0) break
    if (payment.amount <= 0 || !isMeant(payment)) continue
    const part = Math.min(left, payment.amount)
    payment.amount -= part
    left -= part
    taken.push({ ...payment, amount: part })
  }
  counts.payments = counts.payments.filter((payment) => payment.amount !== 0)
  return taken
}
