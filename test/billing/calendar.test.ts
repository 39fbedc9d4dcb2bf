import { describe, expect, it } from 'vitest'
import {
  accountCalendar,
  cycleSpan,
  cycleStatus,
  immediateKeyAt,
  immediateKeyMs,
  periodOf,
  recurrenceOf,
} from '../../src/billing/cycle-key.ts'

const JERUSALEM = { zone: 'Asia/Jerusalem', cycleDay: 1 }
const iso = (atMs: number) => new Date(atMs).toISOString()

describe('a cycle', () => {
  it.each([
    ['202404', 1, 31, '2024-02-29T22:00:00.000Z', '2024-03-31T21:00:00.000Z'],
    ['202405', 1, 30, '2024-03-31T21:00:00.000Z', '2024-04-30T21:00:00.000Z'],
    ['202405', 10, 30, '2024-04-09T21:00:00.000Z', '2024-05-09T21:00:00.000Z'],
    ['202411', 1, 31, '2024-09-30T21:00:00.000Z', '2024-10-31T22:00:00.000Z'],
    ['202403', 28, 29, '2024-02-27T22:00:00.000Z', '2024-03-27T22:00:00.000Z'],
  ])('%s from day %i has %i days, whatever their hours', (key, cycleDay, days, start, end) => {
    const span = cycleSpan(key, { ...JERUSALEM, cycleDay })
    expect({ ...span, start: iso(span.startMs), end: iso(span.endMs) }).toMatchObject({
      key,
      days,
      zone: 'Asia/Jerusalem',
      start,
      end,
    })
  })

  it.each([
    [undefined, 1],
    ['', 1],
    ['15', 15],
    [28, 28],
  ])('of an account with invoicing day %j begins on day %i', (day, cycleDay) => {
    expect(accountCalendar(JERUSALEM, day)).toEqual({ ...JERUSALEM, cycleDay })
  })

  it.each([['29'], ['0'], [1.5], ['first']])('of invoicing day %j is refused', (day) => {
    expect(() => accountCalendar(JERUSALEM, day)).toThrow(/^invoicing_day must be/)
  })
})

describe('the key of an immediate invoice', () => {
  it.each([
    ['20240501093015', '2024-05-01T06:30:15.000Z'],
    ['20240131235959', '2024-01-31T21:59:59.000Z'],
  ])('%s is %s', (key, time) => {
    expect(immediateKeyMs(key, 'Asia/Jerusalem')).toBe(Date.parse(time))
    expect(immediateKeyAt(Date.parse(time), 'Asia/Jerusalem')).toBe(key)
  })

  it.each([['202405'], ['20240230000000'], ['2024050109301'], ['20240501253015']])(
    '%s is none',
    (key) => {
      expect(immediateKeyMs(key, 'UTC')).toBeNull()
    },
  )
})

describe('a recurrence', () => {
  it.each([
    [undefined, 1, null],
    [{ periodicity: 'month' }, 1, null],
    [{ periodicity: 'year' }, 12, null],
    [{ frequency: 1, start: 7 }, 1, null],
    [{ frequency: 3, start: 2 }, 3, 2],
    [{ frequency: '6' }, 6, null],
  ])('%j: %i months from month %j', (value, months, start) => {
    expect(recurrenceOf(value)).toEqual({ months, start })
  })

  it.each([
    [{ frequency: 0 }, 'recurrence.frequency'],
    [{ frequency: 2, start: 13 }, 'recurrence.start'],
    [{ periodicity: 'week' }, 'recurrence.periodicity'],
  ])('%j is refused: %s', (value, field) => {
    expect(() => recurrenceOf(value)).toThrow(field)
  })

  const since = Date.parse('2024-05-20T00:00:00Z')
  it.each([
    ['202406', { months: 1, start: null }, '202406', 31],
    ['202406', { months: 12, start: 1 }, '202501', 366],
    ['202501', { months: 12, start: 1 }, '202501', 366],
    ['202502', { months: 12, start: 1 }, '202601', 365],
    ['202406', { months: 3, start: 2 }, '202408', 92],
    ['202408', { months: 3, start: null }, '202408', 92],
    ['202409', { months: 3, start: null }, '202411', 92],
    ['202407', { months: 5, start: 1 }, '202411', 153],
  ])('%s with %j belongs to the period %s of %i days', (key, recurrence, last, days) => {
    expect(periodOf(key, recurrence, since, { zone: 'UTC', cycleDay: 1 })).toMatchObject({
      key: last,
      days,
    })
  })
})

describe('the status of a cycle', () => {
  const past = { startMs: 0, endMs: 10, nowMs: 10, run: 'none', invoices: 0, confirmed: 0 } as const
  it.each([
    ['future', { ...past, nowMs: -1 }],
    ['current', { ...past, nowMs: 9 }],
    ['to_run', past],
    ['to_rerun', { ...past, invoices: 3, confirmed: 1 }],
    ['running', { ...past, run: 'running', invoices: 3 }],
    ['finished', { ...past, run: 'ended', invoices: 3, confirmed: 2 }],
    ['finished', { ...past, run: 'ended' }],
    ['confirmed', { ...past, run: 'ended', invoices: 3, confirmed: 3 }],
    ['confirmed', { ...past, invoices: 3, confirmed: 3 }],
  ] as const)('is %s', (status, facts) => {
    expect(cycleStatus(facts)).toBe(status)
  })
})
