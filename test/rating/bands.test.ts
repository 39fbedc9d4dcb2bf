import { describe, expect, it } from 'vitest'
import type { PriceSet, TimeBand } from '../../src/domain/catalogue.ts'
import { parseInstant } from '../../src/domain/time.ts'
import { priceAt } from '../../src/rating/bands.ts'
import { readTable } from '../support/domain/table.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'

const HOUR = 3600

function band(name: string, more: Partial<TimeBand>): TimeBand {
  return {
    name,
    days: new Set(),
    dates: new Set(),
    fromSecond: 0,
    toSecond: 24 * HOUR,
    tariff: tariffFrom('1/1'),
    ...more,
  }
}

/** Holidays, weekends, and weekday nights from 22 to 6; otherwise the plain price. */
const PRICE: PriceSet = {
  tariff: tariffFrom('9/1'),
  bands: [
    band('holiday', { dates: new Set(['12-25', '2026-05-25']) }),
    band('weekend', { days: new Set([6, 7]) }),
    band('night', { days: new Set([1, 2, 3, 4, 5]), fromSecond: 22 * HOUR, toSecond: 6 * HOUR }),
  ],
}

/** 2026-03-29 has 23 hours in Berlin, 2026-10-25 has 25; 2026-05-22 is a Friday. */
const CASES = readTable(`
  | instant             | zone          | band    | until               |
  |---------------------|---------------|---------|---------------------|
  | 2026-05-20 12:00:00 | Europe/Berlin |         | 2026-05-20 22:00:00 |
  | 2026-05-20 22:00:00 | Europe/Berlin | night   | 2026-05-21 06:00:00 |
  | 2026-05-21 05:59:59 | Europe/Berlin | night   | 2026-05-21 06:00:00 |
  | 2026-05-22 23:00:00 | Europe/Berlin | night   | 2026-05-23 00:00:00 |
  | 2026-05-23 00:00:00 | Europe/Berlin | weekend | 2026-05-25 00:00:00 |
  | 2026-05-25 00:00:00 | Europe/Berlin | holiday | 2026-05-26 00:00:00 |
  | 2026-05-26 00:00:00 | Europe/Berlin | night   | 2026-05-26 06:00:00 |
  | 2027-12-25 10:00:00 | Asia/Tokyo    | holiday | 2027-12-26 00:00:00 |
  | 2026-03-28 23:30:00 | Europe/Berlin | weekend | 2026-03-30 00:00:00 |
  | 2026-10-25 02:30:00 | Europe/Berlin | weekend | 2026-10-26 00:00:00 |
`)

describe('a price by time', () => {
  it.each(CASES)('$instant in $zone: "$band" until $until', ({ instant, zone, band, until }) => {
    const atMs = parseInstant(instant!, zone!)!
    const price = priceAt(PRICE, atMs, zone!)
    expect(price.band).toBe(band)
    expect(price.tariff).toEqual(tariffFrom(band === '' ? '9/1' : '1/1'))
    expect(new Date(price.endMs)).toEqual(new Date(parseInstant(until!, zone!)!))
  })

  it('follows the time zone of the subscriber', () => {
    const atMs = Date.UTC(2026, 4, 20, 21)
    const bands = ['UTC', 'Europe/Berlin'].map((zone) => priceAt(PRICE, atMs, zone).band)
    expect(bands).toEqual(['', 'night'])
  })

  it('does not depend on the instant looked up before', () => {
    const from = Date.UTC(2026, 4, 20)
    for (let step = 0; step < 400; step += 1) {
      const atMs = from + ((step * 7919) % 400) * (HOUR / 2) * 1000
      expect(priceAt(PRICE, atMs, 'Europe/Berlin')).toMatchObject({
        band: priceAt({ ...PRICE }, atMs, 'Europe/Berlin').band,
        endMs: priceAt({ ...PRICE }, atMs, 'Europe/Berlin').endMs,
      })
    }
  })

  it('is evaluated again after two days if no band changes it', () => {
    const always = { tariff: tariffFrom('9/1'), bands: [band('always', {})] }
    const atMs = Date.UTC(2026, 4, 20, 12)
    expect(priceAt(always, atMs, 'UTC').endMs).toBe(Date.UTC(2026, 4, 22))
    expect(priceAt({ ...always, bands: [] }, atMs, 'UTC').endMs).toBe(Number.POSITIVE_INFINITY)
  })
})
