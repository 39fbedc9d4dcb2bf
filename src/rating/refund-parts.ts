/** Splits a part of the usage or the cost off the segment of an event. Pure. */
import { isGroupCounter } from '../domain/counters.ts'
import { copySegment, priceOf } from '../domain/segment.ts'
import type { Payment } from '../domain/segment-parts.ts'
import type { Segment, SegmentStart } from '../domain/session.ts'
import { charge, type Tariff, UNLIMITED } from '../domain/tariff.ts'

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
  const rest = copySegment(segment)
  const back = emptyBack(segment)
  const priced = Math.min(units, segment.priced)
  const covered = Math.min(units - priced, segment.covered)
  rest.used -= units
  rest.priced -= priced
  rest.covered -= covered
  rest.charged = Math.min(segment.charged, priceOf(rest, rest.priced, rest.used))
  const coveredPrice = charge(segment.tariff, rest.covered, false)
  rest.coveredMicros = Math.min(segment.coveredMicros, coveredPrice)
  back.used = units
  back.priced = priced
  back.covered = covered
  back.charged = segment.charged - rest.charged
  back.coveredMicros = segment.coveredMicros - rest.coveredMicros
  const money = takeBack(rest, isOwnMoney, back.charged)
  const limits = takeBack(rest, ({ kind }) => kind === 'limit', sumOf(money))
  const groupMoney = takeBack(rest, isGroupMoney, back.coveredMicros)
  const own = takeBack(rest, ({ kind }) => kind === 'units', units - priced - covered)
  back.grouped = sumOf(own.filter(({ counter }) => counter !== ''))
  rest.grouped -= back.grouped
  back.payments = [...money, ...limits, ...groupMoney, ...own]
  if (priced > 0) back.tariff = oneInterval(priced, back.charged)
  else if (covered > 0) back.tariff = oneInterval(covered, back.coveredMicros)
  back.others = []
  return { refunded: back, remaining: rest }
}

/** Splits off an amount of money, at most the charge. The units stay used. */
export function splitMoney(segment: Segment, micros: number): SplitSegment {
  const rest = copySegment(segment)
  const back = emptyBack(segment)
  rest.charged -= micros
  const money = takeBack(rest, isOwnMoney, micros)
  const limits = takeBack(rest, ({ kind }) => kind === 'limit', sumOf(money))
  back.payments = [...money, ...limits]
  back.used = micros
  back.priced = micros
  back.charged = micros
  back.tariff = ONE_MICRO_PER_UNIT
  back.others = []
  return { refunded: back, remaining: rest }
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
  const { priced, charged, used } = segment
  if (priced === 0 || priceOf(segment, priced, used) === charged) return segment
  const back = copySegment(segment)
  back.tariff = oneInterval(priced, charged)
  back.others = []
  return back
}

function emptyBack(segment: Segment): Segment {
  const back = copySegment(segment)
  back.used = 0
  back.grouped = 0
  back.covered = 0
  back.priced = 0
  back.coveredMicros = 0
  back.charged = 0
  back.debt = 0
  back.accountDebt = 0
  back.lapsedUnits = 0
  back.lapsedMicros = 0
  back.payments = []
  return back
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

/** Removes an amount from the payments of `rest`, the last one first. */
function takeBack(
  rest: Segment,
  isMeant: (payment: Payment) => boolean,
  amount: number,
): Payment[] {
  const taken: Payment[] = []
  let left = amount
  for (const payment of rest.payments.toReversed()) {
    if (left === 0) break
    if (payment.amount <= 0 || !isMeant(payment)) continue
    const part = Math.min(left, payment.amount)
    payment.amount -= part
    left -= part
    taken.push({ ...payment, amount: part })
  }
  rest.payments = rest.payments.filter((payment) => payment.amount !== 0)
  return taken
}
