/**
 * Calendar days of a zone, by number: 0 is 1970-01-01. A day has 23 to 25 hours, so that charges
 * count days and never divide milliseconds. Pure.
 */
import { daysIn, instantOf, localTime } from '../../domain/time.ts'

const DAY_MS = 86_400_000

/** Instants of a run repeat: the boundaries of its cycles, and those of few customers. */
const CACHED_MAX = 50_000

interface ZoneDays {
  readonly days: Map<number, number>
  readonly starts: Map<number, number>
}

const zones = new Map<string, ZoneDays>()

function cached(zone: string, part: keyof ZoneDays, at: number, find: () => number): number {
  let known = zones.get(zone)
  if (known === undefined) {
    known = { days: new Map(), starts: new Map() }
    zones.set(zone, known)
  }
  const values = known[part]
  let value = values.get(at)
  if (value === undefined) {
    value = find()
    if (values.size >= CACHED_MAX) values.clear()
    values.set(at, value)
  }
  return value
}

/** The day of an instant: a period that begins then counts this day. */
export function dayOf(zone: string, atMs: number): number {
  return cached(zone, 'days', atMs, () => {
    const { year, month, day } = localTime(zone, atMs)
    return dayNumber(year, month, day)
  })
}

/** The first day that a period no longer counts if it ends then: at 00:00 its own day. */
export function dayAfter(zone: string, endMs: number): number {
  return dayOf(zone, endMs - 1) + 1
}

/** First instant of a day, epoch ms. */
export function dayStartMs(zone: string, number: number): number {
  return cached(zone, 'starts', number, () =>
    instantOf(zone, { ...dateOf(number), hour: 0, minute: 0, second: 0 }),
  )
}

/** Month 1 to 12. */
export interface DateParts {
  readonly year: number
  readonly month: number
  readonly day: number
}

export function dateOf(number: number): DateParts {
  const date = new Date(number * DAY_MS)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** `YYYY-MM-DD`. */
export function dateText(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10)
}

export function dayNumber(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / DAY_MS
}

/** The same day of a later month; the last day of a month that is shorter. */
export function monthsLater(number: number, months: number): number {
  const { year, month, day } = dateOf(number)
  const index = year * 12 + month - 1 + months
  const [toYear, toMonth] = [Math.floor(index / 12), (((index % 12) + 12) % 12) + 1]
  return dayNumber(toYear, toMonth, Math.min(day, daysIn(toYear, toMonth)))
}

/** Number of days of the month that contains a day. */
export function monthLength(number: number): number {
  const { year, month } = dateOf(number)
  return daysIn(year, month)
}
