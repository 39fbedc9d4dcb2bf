/**
 * The due dates of an auto-renewal that has a begin and an end instead of a number of charges.
 * Pure. The first date is the begin itself if that lies ahead; the others are the midnights after
 * each interval. A month that is too short has its date on its last day.
 */
import { daysIn, instantOf, type LocalTime, localTime } from '../../domain/time.ts'
import { anchorOf } from './rules.ts'

export type Interval = 'day' | 'week' | 'month'

export interface Schedule {
  /** Number of due dates from begin to end, and how many of them have passed. */
  cycles: number
  done: number
  /** The next date, epoch ms. */
  nextMs: number
  /** Day of the month to return to, if the length of months matters. */
  anchor_day?: number
}

export interface RenewalSpan {
  interval: Interval
  fromMs: number
  /** A date at this instant is within the span. */
  toMs: number
}

/** For a span that begins in the past, the dates until now have passed. */
export function scheduleOf(
  { interval, fromMs, toMs }: RenewalSpan,
  nowMs: number,
  zone: string,
): Schedule {
  const begin = localTime(zone, fromMs)
  const after = (untilMs: number) => datesAfter(begin, interval, localTime(zone, untilMs))
  const anchor = anchorOf(interval, fromMs, zone)
  if (fromMs > nowMs) {
    return { cycles: 1 + Math.max(0, after(toMs)), done: 0, nextMs: fromMs, ...anchor }
  }
  const done = after(nowMs)
  const nextMs = dateAfter(begin, interval, done + 1, zone)
  return { cycles: Math.max(0, after(toMs)), done, nextMs, ...anchor }
}

/** Number of dates from a due date on, itself included, until the end. */
export function remainingFrom(
  nextMs: number,
  { interval, toMs }: Pick<RenewalSpan, 'interval' | 'toMs'>,
  zone: string,
  anchorDay: number | undefined,
): number {
  if (nextMs > toMs) return 0
  const next = localTime(zone, nextMs)
  const begin = { ...next, day: anchorDay ?? next.day }
  return 1 + Math.max(0, datesAfter(begin, interval, localTime(zone, toMs)))
}

const DAY_MS = 86_400_000
const DAYS: Readonly<Record<Exclude<Interval, 'month'>, number>> = { day: 1, week: 7 }

/** How many dates lie after the day of `begin`, until that of `until`. */
function datesAfter(begin: LocalTime, interval: Interval, until: LocalTime): number {
  if (interval !== 'month') return Math.floor((dayOf(until) - dayOf(begin)) / DAYS[interval])
  const months = 12 * (until.year - begin.year) + until.month - begin.month
  const day = Math.min(begin.day, daysIn(until.year, until.month))
  return until.day >= day ? months : months - 1
}

function dayOf({ year, month, day }: LocalTime): number {
  return Date.UTC(year, month - 1, day) / DAY_MS
}

function dateAfter(begin: LocalTime, interval: Interval, number: number, zone: string): number {
  const midnight = { hour: 0, minute: 0, second: 0 }
  if (interval !== 'month') {
    const date = new Date((dayOf(begin) + number * DAYS[interval]) * DAY_MS)
    const month = date.getUTCMonth() + 1
    const day = date.getUTCDate()
    return instantOf(zone, { year: date.getUTCFullYear(), month, day, ...midnight })
  }
  const months = begin.month - 1 + number
  const year = begin.year + Math.floor(months / 12)
  const month = (months % 12) + 1
  const day = Math.min(begin.day, daysIn(year, month))
  return instantOf(zone, { year, month, day, ...midnight })
}
