/** Amounts and dates of installments. Pure. */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { cycleAt } from '../../domain/cycle.ts'
import { daysIn, instantOf, localTime } from '../../domain/time.ts'

export interface CycleTimes {
  readonly timeZone: string
  readonly cycleDay: number
}

/** Whole units each; the first one has the remainder. */
export function shares(total: Exact, count: number): Exact[] {
  const each = total.div(count).floor()
  const first = total.minus(each.times(count - 1))
  return Array.from({ length: count }, (_, index) => (index === 0 ? first : each))
}

/** The same local time `months` later; the last day of a shorter month. */
export function monthsAfter(date: Date, months: number, timeZone: string): Date {
  const { year, month, day, ...time } = localTime(timeZone, date.getTime())
  const index = year * 12 + (month - 1) + months
  const target = { year: Math.floor(index / 12), month: (index % 12) + 1 }
  const lastDay = daysIn(target.year, target.month)
  return new Date(instantOf(timeZone, { ...time, ...target, day: Math.min(day, lastDay) }))
}

const SECOND_MS = 1000

/** The last seconds of the cycle of `nowMs` and of the following ones. */
export function cycleEnds(
  nowMs: number,
  count: number,
  { timeZone, cycleDay }: CycleTimes,
): Date[] {
  const ends: Date[] = []
  let atMs = nowMs
  for (let index = 0; index < count; index += 1) {
    const { toMs } = cycleAt(atMs, timeZone, cycleDay)
    ends.push(new Date(toMs - SECOND_MS))
    atMs = toMs
  }
  return ends
}
