/** Taking a part of what an event used, or of what it cost, out of its segment. Pure. */
import { isGroupCounter } from '../domain/counters.ts'
import { copySegment, priceOf } from '../domain/segment.ts'
import type { Payment, Segment, SegmentStart } from '../domain/session.ts'
import { charge, type Tariff, UNLIMITED } from '../domain/tariff.ts'

export interface SplitSegment {
  /** What is given back, as if it alone had been used. */
  back: Segment
  /** What the event keeps. */
  rest: Segment
}

/** One micro for each unit. */
export const PAR: Tariff = oneInterval(1, 1)

/** So many micros for so many units: a line of this tariff explains its price exactly. */
function oneInterval(units: number, micros: number): Tariff {
  const tiers = [{ units: UNLIMITED, interval: units, price: micros, ceil: true }]
  return { tiers, access: 0, extraDigits: 0, terms: null }
}

/**
 * Some of the units, fewer than were used. The rest costs what it would have cost by itself, and
 * never more than before. What was used last comes back first: units that were priced, then those
 * that groups of money covered, then those of groups and buckets of units.
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
  return { back, rest }
}

/** An amount of money, at most what was charged: the units stay used. */
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
  back.tariff = PAR
  back.others = []
  return { back, rest }
}

/** The segment of an amount of money that is not usage of any rate. */
export function moneyStart(start: SegmentStart): SegmentStart {
  return { ...start, key: 'refund', tariff: PAR, others: [], hasGroups: false, payers: [] }
}

/**
 * What is left of an event, to be given back: its tariff does not explain its price any more once
 * an amount of money was given back.
 */
export function explained(segment: Segment): Segment {
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

/** Out of the payments of the rest, the last one first. */
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
