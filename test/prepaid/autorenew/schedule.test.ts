/** Due dates of auto-renewals with a begin and an end. */
import { describe, expect, it } from 'vitest'
import { instantOf, localTime } from '../../../src/domain/time.ts'
import { afterCharge } from '../../../src/prepaid/autorenew/rules.ts'
import {
  type Interval,
  remainingFrom,
  scheduleOf,
} from '../../../src/prepaid/autorenew/schedule.ts'
import { readTable } from '../../support/domain/table.ts'

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Beirut', 'Pacific/Apia']

function at(zone: string, text: string): number {
  const [date = '', time = '00:00:00'] = text.split(' ')
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number)
  return instantOf(zone, { year, month, day, hour, minute, second })
}

const SCHEDULES = readTable(`
  | case        | now           | from          | to         | every | all | done | next          |
  |-------------|---------------|---------------|------------|-------|-----|------|---------------|
  | a year      | 2026-11-26 10 | 2026-11-26 10 | 2027-11-26 | month | 12  | 0    | 2026-12-26    |
  | a day short | 2026-11-26 10 | 2026-11-26 10 | 2027-11-25 | month | 11  | 0    | 2026-12-26    |
  | later       | 2026-11-26 10 | 2026-12-15    | 2027-02-15 | month | 3   | 0    | 2026-12-15    |
  | later, 8h   | 2026-11-26 10 | 2026-12-15 08 | 2027-02-14 | month | 2   | 0    | 2026-12-15 08 |
  | in the past | 2026-11-26 10 | 2026-08-10    | 2027-01-31 | month | 5   | 3    | 2026-12-10    |
  | due today   | 2026-11-10 10 | 2026-08-10    | 2027-01-31 | month | 5   | 3    | 2026-12-10    |
  | 31 January  | 2026-01-31 09 | 2026-01-31    | 2026-06-30 | month | 5   | 0    | 2026-02-28    |
  | leap year   | 2028-01-31 09 | 2028-01-31    | 2028-03-31 | month | 2   | 0    | 2028-02-29    |
  | 28 February | 2026-02-28 09 | 2026-01-31    | 2026-12-31 | month | 11  | 1    | 2026-03-31    |
  | 29 February | 2028-02-29 09 | 2028-02-29    | 2029-03-01 | month | 12  | 0    | 2028-03-29    |
  | 31 December | 2026-12-31 23 | 2026-12-31    | 2027-04-30 | month | 4   | 0    | 2027-01-31    |
  | weeks       | 2026-03-25 12 | 2026-03-25    | 2026-04-08 | week  | 2   | 0    | 2026-04-01    |
  | short weeks | 2026-03-25 12 | 2026-03-25    | 2026-04-07 | week  | 1   | 0    | 2026-04-01    |
  | days        | 2026-03-28 12 | 2026-03-20    | 2026-03-31 | day   | 11  | 8    | 2026-03-29    |
  | over        | 2026-11-26 10 | 2026-08-10    | 2026-10-31 | month | 2   | 3    | 2026-12-10    |
`)

describe.each(ZONES)('in %s', (zone) => {
  it.each(SCHEDULES)('$case', (row) => {
    const toMs = at(zone, `${row.to} 23:59:59`)
    const span = { interval: row.every as Interval, fromMs: at(zone, String(row.from)), toMs }
    const found = scheduleOf(span, at(zone, String(row.now)), zone)
    expect([found.cycles, found.done]).toEqual([Number(row.all), Number(row.done)])
    expect(found.nextMs).toBe(at(zone, String(row.next)))
  })

  it.each(['day', 'week', 'month'] as const)(
    'by the %s the dates are those of charging',
    (interval) => {
      const fromMs = at(zone, '2025-10-31')
      const toMs = at(zone, '2027-04-30 23:59:59')
      const { cycles, nextMs, anchor_day } = scheduleOf({ interval, fromMs, toMs }, fromMs, zone)
      let renewal: Record<string, unknown> = { interval, cycles_remaining: cycles, anchor_day }
      let dueMs = nextMs
      const dates: number[] = []
      for (let left = cycles; left > 0; left -= 1) {
        expect(remainingFrom(dueMs, { interval, toMs }, zone, anchor_day)).toBe(left)
        dates.push(dueMs)
        renewal = { ...renewal, ...afterCharge(renewal, dueMs, { nowMs: dueMs, zone }) }
        dueMs = (renewal['next_renew'] as Date).getTime()
      }
      expect(dueMs).toBeGreaterThan(toMs)
      expect(renewal['cycles_remaining']).toBe(0)
      const times = new Set(dates.map((ms) => localTime(zone, ms).hour))
      // Beirut has no midnight on the day on which its daylight saving begins.
      expect([...times].every((hour) => hour === 0 || (zone === 'Asia/Beirut' && hour === 1))).toBe(
        true,
      )
      expect(new Set(dates).size).toBe(cycles)
    },
  )
})

it('a date after the end does not remain', () => {
  const toMs = at('UTC', '2026-01-31 23:59:59')
  expect(remainingFrom(toMs + 1, { interval: 'month', toMs }, 'UTC', undefined)).toBe(0)
})
