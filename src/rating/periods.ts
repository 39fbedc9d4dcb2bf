/** Periods that begin with a service (`balance_period`, spec/entity-api.md 4.4). */
import type { ServicePeriod } from '../domain/catalogue.ts'
import { instantOf, localTime } from '../domain/time.ts'

/** By the calendar: a month later is the same day, or the last one of a shorter month. */
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
    ...{ hour: time.hour, minute: time.minute, second: time.second },
  })
  return end + hours * 3_600_000
}
