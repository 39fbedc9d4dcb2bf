/** Sets of days of a cycle. Pure. */
import { dayAfter, dayOf, dayStartMs } from '../days.ts'
import type { CycleSpan, Span } from '../lines.ts'

/** Days [from, to), counted from 0, the first day of the cycle. */
export interface DayRange {
  readonly from: number
  readonly to: number
}

/** Sorted ranges that neither overlap nor touch. */
export type DaySet = readonly DayRange[]

export const NO_DAYS: DaySet = []

export function allDays({ days }: CycleSpan): DaySet {
  return [{ from: 0, to: days }]
}

/** The days of the cycle that a period touches: a day is whole or not there. */
export function daysOf({ startMs, endMs }: Span, cycle: CycleSpan): DaySet {
  const fromMs = Math.max(startMs, cycle.startMs)
  const toMs = Math.min(endMs, cycle.endMs)
  if (fromMs >= toMs) return NO_DAYS
  if (fromMs === cycle.startMs && toMs === cycle.endMs) return allDays(cycle)
  const { zone } = cycle
  const first = dayOf(zone, cycle.startMs)
  return [{ from: dayOf(zone, fromMs) - first, to: dayAfter(zone, toMs) - first }]
}

/** The period from the first to the last of the days. */
export function spanOf(days: DaySet, { zone, startMs, endMs }: CycleSpan): Span {
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return { startMs, endMs: startMs }
  const begin = dayOf(zone, startMs)
  return {
    startMs: dayStartMs(zone, begin + first.from),
    endMs: Math.min(dayStartMs(zone, begin + last.to), endMs),
  }
}

export function countOf(days: DaySet): number {
  let count = 0
  for (const { from, to } of days) count += to - from
  return count
}

export function contains(days: DaySet, day: number): boolean {
  return days.some(({ from, to }) => day >= from && day < to)
}

export function union(...sets: readonly DaySet[]): DaySet {
  const filled = sets.filter(({ length }) => length > 0)
  if (filled.length <= 1) return filled[0] ?? NO_DAYS
  const sorted = filled.flat().sort((a, b) => a.from - b.from)
  const merged: { from: number; to: number }[] = []
  for (const { from, to } of sorted) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else merged.push({ from, to })
  }
  return merged
}

export function intersection(a: DaySet, b: DaySet): DaySet {
  const common = a.flatMap((one) =>
    b.map((other) => ({ from: Math.max(one.from, other.from), to: Math.min(one.to, other.to) })),
  )
  return common.filter(({ from, to }) => from < to)
}

/** The days of `a` that are not in `b`. */
export function difference(a: DaySet, b: DaySet): DaySet {
  let rest = a
  for (const { from, to } of b) {
    rest = rest
      .flatMap((one) => [
        { from: one.from, to: Math.min(one.to, from) },
        { from: Math.max(one.from, to), to: one.to },
      ])
      .filter((one) => one.from < one.to)
  }
  return rest
}
