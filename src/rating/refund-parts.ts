/** Splits a part of the usage or the cost off the segment of an event. Pure. */
import { isGroupCounter } from '../domain/counters.ts'
import { UNLIMITED } from '../domain/pricing/tier.ts'
import { copySegment, priceOf } from '../domain/segment.ts'
import type { Payment } from '../domain/segment-parts.ts'
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
  const chargedUnits = Math.min(units, segment.chargedUnits)
  const includedMoneyUnits = Math.min(units - chargedUnits, segment.includedMoneyUnits)
  remaining.used -= units
  remaining.chargedUnits -= chargedUnits
  remaining.includedMoneyUnits -= includedMoneyUnits
  remaining.charged = Math.min(
    segment.charged,
    priceOf(remaining, remaining.chargedUnits, remaining.used),
  )
  const coveredPrice = charge(segment.tariff, remaining.includedMoneyUnits, false)
  remaining.includedMicros = Math.min(segment.includedMicros, coveredPrice)
  refunded.used = units
  refunded.chargedUnits = chargedUnits
  refunded.includedMoneyUnits = includedMoneyUnits
  refunded.charged = segment.charged - remaining.charged
  refunded.includedMicros = segment.includedMicros - remaining.includedMicros
  const money = takePayments(remaining, isOwnMoney, refunded.charged)
  const limits = takePayments(remaining, ({ kind }) => kind === 'limit', sumOf(money))
  const groupMoney = takePayments(remaining, isGroupMoney, refunded.includedMicros)
  const own = takePayments(
    remaining,
    ({ kind }) => kind === 'units',
    units - chargedUnits - includedMoneyUnits,
  )
  refunded.includedUnits = sumOf(own.filter(({ counter }) => counter !== ''))
  remaining.includedUnits -= refunded.includedUnits
  refunded.payments = [...money, ...limits, ...groupMoney, ...own]
  if (chargedUnits > 0) refunded.tariff = oneInterval(chargedUnits, refunded.charged)
  else if (includedMoneyUnits > 0)
    refunded.tariff = oneInterval(includedMoneyUnits, refunded.includedMicros)
  refunded.others = []
  return { refunded, remaining }
}

/** Splits off an amount of money, at most the charge. The units stay used. */
export function splitMoney(segment: Segment, micros: number): SplitSegment {
  const remaining = copySegment(segment)
  const refunded = emptyRefund(segment)
  remaining.charged -= micros
  const money = takePayments(remaining, isOwnMoney, micros)
  const limits = takePayments(remaining, ({ kind }) => kind === 'limit', sumOf(money))
  refunded.payments = [...money, ...limits]
  refunded.used = micros
  refunded.chargedUnits = micros
  refunded.charged = micros
  refunded.tariff = ONE_MICRO_PER_UNIT
  refunded.others = []
  return { refunded, remaining }
}

/** The start of a segment for an amount of money, which is not usage of a rate. */
export function moneyStart(start: SegmentStart): SegmentStart {
  return {
    ...start,
    key: 'refund',
    tariff: ONE_MICRO_PER_UNIT,
    others: [],
    hasGroups: false,
    fundingSources: [],
  }
}

/**
 * The remainder of an event for its refund. If an amount of money was refunded before, the tariff
 * no longer yields the charge and is replaced.
 */
export function recomputable(segment: Segment): Segment {
  const { chargedUnits, charged, used } = segment
  if (chargedUnits === 0 || priceOf(segment, chargedUnits, used) === charged) return segment
  const refunded = copySegment(segment)
  refunded.tariff = oneInterval(chargedUnits, charged)
  refunded.others = []
  return refunded
}

function emptyRefund(segment: Segment): Segment {
  const refunded = copySegment(segment)
  refunded.used = 0
  refunded.includedUnits = 0
  refunded.includedMoneyUnits = 0
  refunded.chargedUnits = 0
  refunded.includedMicros = 0
  refunded.charged = 0
  refunded.debt = 0
  refunded.accountDebt = 0
  refunded.forfeitedUnits = 0
  refunded.forfeitedMicros = 0
  refunded.payments = []
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

/** Removes an amount from the payments of `remaining`, the last one first. */
function takePayments(
  remaining: Segment,
  isMeant: (payment: Payment) => boolean,
  amount: number,
): Payment[] {
  const taken: Payment[] = []
  let left = amount
  for (const payment of remaining.payments.toReversed()) {
    if (left === 0) break
    if (payment.amount <= 0 || !isMeant(payment)) continue
    const part = Math.min(left, payment.amount)
    payment.amount -= part
    left -= part
    taken.push({ ...payment, amount: part })
  }
  remaining.payments = remaining.payments.filter((payment) => payment.amount !== 0)
  return taken
}
