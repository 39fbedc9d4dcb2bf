/** Sets of days of a cycle, and their calendar. Pure. */
import { instantOf, localTime } from '../../../domain/time.ts'
import type { CycleSpan, Span } from '../lines.ts'

/** Days [from, to), counted from 0, the first day of the cycle. */
export interface DayRange {
  readonly from: number
  readonly to: number
}

/** Sorted ranges that neither overlap nor touch. */
export type Days = readonly DayRange[]

export const NO_DAYS: Days = []

export function allDays({ days }: CycleSpan): Days {
  return [{ from: 0, to: days }]
}

/** The days of the cycle that a period touches: a day is whole or not there. */
export function daysOf({ startMs, endMs }: Span, cycle: CycleSpan): Days {
  const fromMs = Math.max(startMs, cycle.startMs)
  const toMs = Math.min(endMs, cycle.endMs)
  if (fromMs >= toMs) return NO_DAYS
  if (fromMs === cycle.startMs && toMs === cycle.endMs) return allDays(cycle)
  return [{ from: dayAt(fromMs, cycle), to: dayAt(toMs - 1, cycle) + 1 }]
}

/** First instant of a day; of the day after the last one, the end of the cycle. */
export function dayStartMs(day: number, cycle: CycleSpan): number {
  return midnights(cycle)[day] ?? cycle.endMs
}

export function countOf(days: Days): number {
  let count = 0
  for (const { from, to } of days) count += to - from
  return count
}

export function contains(days: Days, day: number): boolean {
  return days.some(({ from, to }) => day >= from && day < to)
}

export function union(...sets: readonly Days[]): Days {
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

export function intersection(a: Days, b: Days): Days {
  const common = a.flatMap((one) =>
    b.map((other) => ({ from: Math.max(one.from, other.from), to: Math.min(one.to, other.to) })),
  )
  return common.filter(({ from, to }) => from < to)
}

/** The days of `a` that are not in `b`. */
export function difference(a: Days, b: Days): Days {
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

/** Cycles of one month have the same midnights, whichever account they belong to. */
const knownMidnights = new Map<string, readonly number[]>()
const KNOWN_MAX = 200

function midnights(cycle: CycleSpan): readonly number[] {
  const key = `${cycle.zone}/${cycle.startMs}/${cycle.days}`
  let found = knownMidnights.get(key)
  if (found === undefined) {
    found = computeMidnights(cycle)
    if (knownMidnights.size >= KNOWN_MAX) knownMidnights.clear()
    knownMidnights.set(key, found)
  }
  return found
}

function computeMidnights({ zone, startMs, days }: CycleSpan): number[] {
  const { year, month, day } = localTime(zone, startMs)
  const first = Date.UTC(year, month - 1, day)
  return Array.from({ length: days }, (_, index) => {
    if (index === 0) return startMs
    const date = new Date(first + index * 86_400_000)
    return instantOf(zone, {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
      hour: 0,
      minute: 0,
      second: 0,
    })
  })
}

/** The day of an instant within the cycle. */
function dayAt(atMs: number, cycle: CycleSpan): number {
  const starts = midnights(cycle)
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] as number) <= atMs) low = middle
    else high = middle - 1
  }
  return low
}
