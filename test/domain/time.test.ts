import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  daysIn,
  instantOf,
  localTime,
  parseCommonInstant,
  parseInstant,
} from '../../src/domain/time.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { readTable } from '../support/domain/table.ts'

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Asia/Jerusalem',
  'Asia/Kathmandu',
  'America/St_Johns',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'Pacific/Apia',
]
const DAY_MS = 86_400_000

describe('localTime', () => {
  it('reads UTC like a zone that is the same under another name', () => {
    const instant = fc.integer({ min: -(2 ** 42), max: 2 ** 43 })
    fc.assert(
      fc.property(instant, (atMs) => {
        expect(localTime('UTC', atMs)).toEqual(localTime('Etc/UTC', atMs))
      }),
      propertyRuns(1000),
    )
  })
})

describe('parseInstant', () => {
  const cases = readTable(`
    | text                          | zone           | instant (UTC)            |
    |-------------------------------|----------------|--------------------------|
    | 2026-07-01                    | UTC            | 2026-07-01T00:00:00.000Z |
    | 2026-07-01                    | Europe/Berlin  | 2026-06-30T22:00:00.000Z |
    | 2026-01-01                    | Europe/Berlin  | 2025-12-31T23:00:00.000Z |
    | 2026-07-01 12:34:56           | Asia/Jerusalem | 2026-07-01T09:34:56.000Z |
    | 2026-07-01T12:34              | UTC            | 2026-07-01T12:34:00.000Z |
    | 2026-07-01T12:34:56.7         | UTC            | 2026-07-01T12:34:56.700Z |
    | 2026-07-01T12:34:56.123456789 | UTC            | 2026-07-01T12:34:56.123Z |
    | 2026-07-01T12:34:56Z          | Europe/Berlin  | 2026-07-01T12:34:56.000Z |
    | 2026-07-01T12:34:56+05:45     | Europe/Berlin  | 2026-07-01T06:49:56.000Z |
    | 2026-07-01T12:34:56-0330      | UTC            | 2026-07-01T16:04:56.000Z |
    | 2024-02-29                    | UTC            | 2024-02-29T00:00:00.000Z |
    | 2000-02-29                    | UTC            | 2000-02-29T00:00:00.000Z |
    | 2170-01-01                    | UTC            | 2170-01-01T00:00:00.000Z |
  `)

  it.each(cases)('reads $text in $zone', (row) => {
    const atMs = parseInstant(row['text']!, row['zone']!)
    expect(atMs === null ? null : new Date(atMs).toISOString()).toBe(row['instant (UTC)'])
  })

  it.each([
    '',
    'now',
    '2026',
    '2026-7-1',
    '2026-13-01',
    '2026-00-10',
    '2026-04-31',
    '2026-02-29',
    '1900-02-29',
    '2026-01-00',
    '2026-01-01 24:00:00',
    '2026-01-01 12:60:00',
    '2026-01-01 12:00:60',
    '2026-01-01 1:00',
    '2026-01-01T12:00:00.',
    '2026-01-01T12:00:00+25:00',
    '2026-01-01T12:00:00+02:60',
    '2026-01-01T12:00:00+2',
    '2026-01-01T12:00:00z',
    '0026-01-01',
    '20260101',
    ' 2026-01-01',
    '1789000000',
  ])('refuses %j', (text) => {
    expect(parseInstant(text, 'UTC')).toBeNull()
  })

  it('refuses a zone that does not exist', () => {
    expect(() => parseInstant('2026-01-01', 'Atlantis/Center')).toThrow(RangeError)
  })

  it('keeps every millisecond', () => {
    for (let millis = 0; millis < 1000; millis += 1) {
      const text = `2026-01-01T00:00:00.${String(millis).padStart(3, '0')}Z`
      expect(parseInstant(text, 'UTC')! % 1000).toBe(millis)
    }
  })
})

describe('parseUsualInstant', () => {
  it('reads what parseInstant reads', () => {
    const second = fc.integer({ min: 0, max: 2 ** 33 })
    fc.assert(
      fc.property(second, (seconds) => {
        const text = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
        expect(parseCommonInstant(text)).toBe(parseInstant(text, 'Europe/Berlin'))
      }),
      propertyRuns(500),
    )
  })

  it.each([
    '2026-02-29T10:00:00Z',
    '2026-13-01T10:00:00Z',
    '2026-01-00T10:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T10:60:00Z',
    '2026-01-01T10:00:60Z',
    '2026-01-01 10:00:00Z',
    '2026-01-01T10:00:0:Z',
    '2026-01-01T10:00:00z',
    '2026/01-01T10:00:00Z',
    '1969-12-31T23:59:59Z',
    '2026-01-01T10:00:00.0Z',
    '2026-01-01T10:00+00Z',
    '',
  ])('leaves %j to parseInstant', (text) => {
    expect(parseCommonInstant(text)).toBe(-1)
  })
})

describe('daylight saving', () => {
  const days = readTable(`
    | zone                | day        | hours |
    |---------------------|------------|-------|
    | Europe/Berlin       | 2026-03-28 | 24    |
    | Europe/Berlin       | 2026-03-29 | 23    |
    | Europe/Berlin       | 2026-10-25 | 25    |
    | Asia/Jerusalem      | 2026-03-27 | 23    |
    | Asia/Jerusalem      | 2026-10-25 | 25    |
    | America/Sao_Paulo   | 2018-11-04 | 23    |
    | America/Sao_Paulo   | 2018-02-17 | 25    |
    | Australia/Lord_Howe | 2026-10-04 | 23.5  |
    | Australia/Lord_Howe | 2026-04-05 | 24.5  |
    | UTC                 | 2026-03-29 | 24    |
  `)

  it.each(days)('$day has $hours hours in $zone', ({ zone = '', day = '', hours }) => {
    const next = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10)
    const lengthMs = parseInstant(next, zone)! - parseInstant(day, zone)!
    expect(lengthMs / 3_600_000).toBe(Number(hours))
  })

  const wallClocks = readTable(`
    | zone              | clock               | instant (UTC)       | why                    |
    |-------------------|---------------------|---------------------|------------------------|
    | Europe/Berlin     | 2026-03-29 01:59:59 | 2026-03-29T00:59:59 | before the jump        |
    | Europe/Berlin     | 2026-03-29 02:30:00 | 2026-03-29T01:30:00 | skipped: jump and 0:30 |
    | Europe/Berlin     | 2026-03-29 03:00:00 | 2026-03-29T01:00:00 | after the jump         |
    | Europe/Berlin     | 2026-10-25 02:30:00 | 2026-10-25T00:30:00 | twice: the first       |
    | Europe/Berlin     | 2026-10-25 03:00:00 | 2026-10-25T02:00:00 | after the second       |
    | America/New_York  | 2026-11-01 01:30:00 | 2026-11-01T05:30:00 | twice: the first       |
    | America/Sao_Paulo | 2018-11-04 00:00:00 | 2018-11-04T03:00:00 | no midnight that day   |
  `)

  it.each(wallClocks)('$clock in $zone: $why', (row) => {
    const atMs = parseInstant(row['clock']!, row['zone']!)!
    expect(new Date(atMs).toISOString().slice(0, 19)).toBe(row['instant (UTC)'])
  })
})

describe('localTime and instantOf', () => {
  it('are inverse except when the clock shows a time twice', () => {
    const seconds = fc.integer({ min: Date.UTC(1990, 0) / 1000, max: Date.UTC(2040, 0) / 1000 })
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), seconds, (zone, second) => {
        const local = localTime(zone, second * 1000)
        const back = instantOf(zone, local)
        expect(localTime(zone, back)).toEqual(local)
        expect(back).toBeLessThanOrEqual(second * 1000)
      }),
      propertyRuns(500),
    )
  })
})

describe('daysIn', () => {
  it.each([
    [2026, 2, 28],
    [2024, 2, 29],
    [2000, 2, 29],
    [2100, 2, 28],
    [2026, 4, 30],
    [2026, 12, 31],
  ])('%i-%i has %i days', (year, month, days) => {
    expect(daysIn(year, month)).toBe(days)
  })
})
