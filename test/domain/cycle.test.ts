import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCycleFinder, cycleAt } from '../../src/domain/cycle.ts'
import { localTime, parseInstant } from '../../src/domain/time.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { readTable } from '../support/domain/table.ts'

const CASES = readTable(`
  | instant              | zone              | day | key    | from             | to               |
  |----------------------|-------------------|-----|--------|------------------|------------------|
  | 2026-03-01T00:00:00Z | UTC               | 1   | 202604 | 2026-03-01       | 2026-04-01       |
  | 2026-03-31T23:59:59Z | UTC               | 1   | 202604 | 2026-03-01       | 2026-04-01       |
  | 2026-04-01T00:00:00Z | UTC               | 1   | 202605 | 2026-04-01       | 2026-05-01       |
  | 2026-12-05T10:00:00Z | UTC               | 1   | 202701 | 2026-12-01       | 2027-01-01       |
  | 2026-03-09T23:59:59Z | UTC               | 10  | 202603 | 2026-02-10       | 2026-03-10       |
  | 2026-03-10T00:00:00Z | UTC               | 10  | 202604 | 2026-03-10       | 2026-04-10       |
  | 2027-01-05T00:00:00Z | UTC               | 10  | 202701 | 2026-12-10       | 2027-01-10       |
  | 2026-12-31T00:00:00Z | UTC               | 28  | 202701 | 2026-12-28       | 2027-01-28       |
  | 2024-02-29T12:00:00Z | UTC               | 28  | 202403 | 2024-02-28       | 2024-03-28       |
  | 2026-06-30T22:30:00Z | Europe/Berlin     | 1   | 202608 | 2026-07-01       | 2026-08-01       |
  | 2026-07-01T02:30:00Z | America/New_York  | 1   | 202607 | 2026-06-01       | 2026-07-01       |
  | 2018-11-04T02:59:59Z | America/Sao_Paulo | 4   | 201811 | 2018-10-04       | 2018-11-04 01:00 |
  | 2018-11-04T03:00:00Z | America/Sao_Paulo | 4   | 201812 | 2018-11-04 01:00 | 2018-12-04       |
  | 2010-11-07T02:29:59Z | America/St_Johns  | 7   | 201011 | 2010-10-07       | 2010-11-07       |
  | 2010-11-07T02:45:00Z | America/St_Johns  | 7   | 201012 | 2010-11-07       | 2010-12-07       |
`)

describe('the cycle of an instant', () => {
  it.each(CASES)('$instant in $zone, charging day $day: $key', (row) => {
    const zone = row['zone']!
    const cycle = cycleAt(parseInstant(row['instant']!, 'UTC')!, zone, Number(row['day']))
    expect(cycle).toEqual({
      key: row['key'],
      fromMs: parseInstant(row['from']!, zone),
      toMs: parseInstant(row['to']!, zone),
    })
  })

  it('has the key of its month before the charging day, and of the next month from then', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('UTC', 'Asia/Jerusalem', 'America/Sao_Paulo', 'Pacific/Apia'),
        fc.integer({ min: 1, max: 28 }),
        fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2040, 0) }),
        (zone, chargingDay, atMs) => {
          const { year, month, day } = localTime(zone, atMs)
          const months = year * 12 + month - 1 + (day < chargingDay ? 0 : 1)
          const { key, fromMs, toMs } = cycleAt(atMs, zone, chargingDay)
          expect(Number(key.slice(0, 4)) * 12 + Number(key.slice(4)) - 1).toBe(months)
          expect(fromMs <= atMs && atMs < toMs).toBe(true)
          expect(cycleAt(toMs, zone, chargingDay).fromMs).toBe(toMs)
          expect(cycleAt(toMs - 1, zone, chargingDay).key).toBe(key)
        },
      ),
      propertyRuns(300),
    )
  })
})

describe('the cycle finder', () => {
  it.each([
    ['2026-03-16', '2026-03-16', '202604'],
    ['of the previous cycle', '2026-03-14', '202603'],
    ['in a cycle that is closed, in the oldest open one', '2025-12-31', '202603'],
    ['of the next cycle', '2026-04-15', '202605'],
  ])('counts an event %s', (_what, event, key) => {
    const find = createCycleFinder('Europe/Berlin', 15)
    const at = (text: string) => parseInstant(text, 'Europe/Berlin')!
    const nowMs = at('2026-03-20')
    const known = cycleAt(at('2026-03-01'), 'Europe/Berlin', 15)
    expect(find(at(event), nowMs)).toMatchObject({ cycle: { key }, oldestMs: known.fromMs })
  })

  it('follows the clock into the next cycle', () => {
    const find = createCycleFinder('UTC', 1)
    const event = Date.UTC(2026, 0, 20)
    const keys = [0, 1, 2, 3].map((month) => find(event, Date.UTC(2026, month, 25)).cycle.key)
    expect(keys).toEqual(['202602', '202602', '202603', '202604'])
  })
})
