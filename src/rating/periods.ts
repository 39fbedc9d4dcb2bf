/** How long a service is active: `balance_period`, `limit_cycles`. */
import type { ServicePeriod, ServiceRevision, ServiceTerms } from '../domain/catalogue.ts'
import { cycleAt } from '../domain/cycle.ts'
import { instantOf, localTime, NO_BEGIN_MS } from '../domain/time.ts'

/** The calendar that determines the end of a service. */
export interface HolderCalendar {
  /** IANA zone. */
  zone: string
  /**
   * For an account, which is charged for whole cycles: months count from the start of the billing
   * cycle, on this day of the month. Null if they count from the begin of the service itself.
   */
  cycleDay: number | null
}

interface Span {
  fromMs: number
  toMs: number
}

/** No limit, and counted by billing cycle. */
const ENDLESS: ServiceTerms = { period: null, limitMonths: null }

/**
 * The terms of a service that is active since an instant: those of the revision in force then, or
 * of the first one if there was none yet. A service without a begin has no limit.
 */
export function termsSince(revisions: readonly ServiceRevision[], fromMs: number): ServiceTerms {
  if (fromMs <= NO_BEGIN_MS) return ENDLESS
  return revisions.find(({ toMs }) => fromMs < toMs) ?? revisions.at(-1) ?? ENDLESS
}

/** The end of a service, at most `toMs`. The only place that computes it. */
export function endOfService(
  { period, limitMonths }: ServiceTerms,
  { fromMs, toMs }: Span,
  { zone, cycleDay }: HolderCalendar,
): number {
  if (period !== null) return Math.min(toMs, cachedEnd(period, fromMs, zone))
  if (limitMonths === null) return toMs
  const beginMs = cycleDay === null ? fromMs : cycleAt(fromMs, zone, cycleDay).fromMs
  const months = { months: limitMonths, days: 0, hours: 0, untilMidnight: false }
  return Math.min(toMs, cachedEnd(months, beginMs, zone))
}

/**
 * Cached, because a request for a pooled group needs the end for every subscriber of the account.
 */
const ENDS_MAX = 20_000
const ends = new Map<string, number>()

function cachedEnd(period: ServicePeriod, fromMs: number, zone: string): number {
  const { months, days, hours, untilMidnight } = period
  const key = `${months} ${days} ${hours} ${untilMidnight} ${fromMs} ${zone}`
  let end = ends.get(key)
  if (end === undefined) {
    end = endOf(period, fromMs, zone)
    if (ends.size >= ENDS_MAX) ends.clear()
    ends.set(key, end)
  }
  return end
}

/** Calendar arithmetic: a month later is the same day, or the last day of a shorter month. */
export function endOf(period: ServicePeriod, fromMs: number, zone: string): number {
  const begin = localTime(zone, fromMs)
  const { months, days, hours, untilMidnight } = period
  const month = begin.month - 1 + months
  const lastDay = new Date(Date.UTC(begin.year, month + 1, 0)).getUTCDate()
  const date = new Date(Date.UTC(begin.year, month, Math.min(begin.day, lastDay) + days))
  const time = untilMidnight ? { hour: 0, minute: 0, second: 0 } : begin
  const end = instantOf(zone, {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: time.hour,
    minute: time.minute,
    second: time.second,
  })
  return end + hours * 3_600_000
}
