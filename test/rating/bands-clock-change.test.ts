/**
 * Time bands around changes of the clock, against a model that reads the clock of `Intl` and steps
 * through the seconds: eight zones, and every change of ten years.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PriceSet, TimeBand } from '../../src/domain/catalogue.ts'
import { priceAt } from '../../src/rating/bands.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { readTable } from '../support/domain/table.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'
import { bandOfSecond, clockChanges, WallClock } from '../support/rating/wall-clock.ts'

const ZONES = [
  'Europe/Madrid',
  'America/New_York',
  'Atlantic/Azores',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'America/Havana',
  'America/Santiago',
  'Asia/Tehran',
]
const SECOND = 1000
const HOUR = 3_600_000
const FROM_MS = Date.UTC(2017, 0, 1)
const TO_MS = Date.UTC(2027, 0, 1)
const changes = ZONES.flatMap((zone) =>
  clockChanges(zone, FROM_MS, TO_MS).map((atMs) => ({ zone, atMs })),
)

function band(name: string, from: number, to: number, more: Partial<TimeBand> = {}): TimeBand {
  const always = { days: new Set<number>(), dates: new Set<string>() }
  return { name, ...always, fromSecond: from, toSecond: to, tariff: tariffFrom('1/1'), ...more }
}

function priceOf(...bands: TimeBand[]): PriceSet {
  return { tariff: tariffFrom('9/1'), bands }
}

const second = fc.oneof(
  fc.integer({ min: 0, max: 48 }).map((half) => half * 1800),
  // Most changes are between midnight and four.
  fc.integer({ min: 0, max: 4 * 3600 }),
  fc.integer({ min: 0, max: 86_400 }),
)
const bands = fc
  .array(fc.tuple(second, second, fc.subarray([1, 2, 3, 4, 5, 6, 7]), fc.boolean()), {
    minLength: 1,
    maxLength: 3,
  })
  .map((drawn) =>
    drawn.map(([from, to, days, isOther], index) =>
      band(`b${index}`, from === 86_400 ? 0 : from, to === from ? (to + 60) % 86_400 : to, {
        days: new Set(days),
        tariff: tariffFrom(isOther ? '2/1' : '1/1'),
      }),
    ),
  )
const asked = fc.array(fc.integer({ min: -8 * 3600, max: 8 * 3600 }), {
  minLength: 1,
  maxLength: 5,
})

describe('a band around a change of the clock', () => {
  it('is that of the model at each second, whoever asked before', () => {
    fc.assert(
      fc.property(fc.constantFrom(...changes), bands, asked, ({ zone, atMs }, drawn, seconds) => {
        const clock = WallClock.around(zone, atMs)
        const price = priceOf(...drawn)
        for (const offset of seconds) {
          const fromMs = atMs + offset * SECOND
          const found = priceAt(price, fromMs, zone)
          const name = bandOfSecond(drawn, clock, fromMs)
          expect(found.band).toBe(name)
          const untilMs = Math.min(found.endMs, atMs + 10 * HOUR)
          let ms = fromMs
          while (ms < untilMs && bandOfSecond(drawn, clock, ms) === name) ms += SECOND
          expect(ms).toBeGreaterThanOrEqual(untilMs)
          if (untilMs === found.endMs) expect(bandOfSecond(drawn, clock, untilMs)).not.toBe(name)
          expect(found.changeMs).toBeGreaterThanOrEqual(found.endMs)
        }
      }),
      propertyRuns(900),
    )
  })

  it('is asked around the changes of every zone', () => {
    for (const zone of ZONES) {
      expect(changes.filter((change) => change.zone === zone).length).toBeGreaterThanOrEqual(10)
    }
  })
})

/** A night of `from` to `to`: its band at an instant, and until when. */
const CASES = readTable(`
  | zone             | from  | to    | at                   | band  | until                |
  |------------------|-------|-------|----------------------|-------|----------------------|
  | Europe/Madrid    | 00:00 | 02:30 | 2025-10-25T22:00:00Z | night | 2025-10-26T00:30:00Z |
  | Europe/Madrid    | 00:00 | 02:30 | 2025-10-26T00:30:00Z |       | 2025-10-26T01:00:00Z |
  | Europe/Madrid    | 00:00 | 02:30 | 2025-10-26T01:10:00Z | night | 2025-10-26T01:30:00Z |
  | Europe/Madrid    | 00:00 | 02:30 | 2025-10-26T12:00:00Z |       | 2025-10-26T23:00:00Z |
  | Europe/Madrid    | 00:00 | 02:30 | 2025-03-29T23:30:00Z | night | 2025-03-30T01:00:00Z |
  | Europe/Madrid    | 02:30 | 06:00 | 2025-03-30T00:50:00Z |       | 2025-03-30T01:00:00Z |
  | Europe/Madrid    | 02:30 | 06:00 | 2025-03-30T01:00:00Z | night | 2025-03-30T04:00:00Z |
  | Europe/Madrid    | 02:10 | 02:50 | 2025-03-30T00:00:00Z |       | 2025-03-31T00:10:00Z |
  | America/New_York | 20:00 | 01:30 | 2025-11-02T05:00:00Z | night | 2025-11-02T05:30:00Z |
  | America/New_York | 20:00 | 01:30 | 2025-11-02T05:30:00Z |       | 2025-11-02T06:00:00Z |
  | America/New_York | 20:00 | 01:30 | 2025-11-02T06:00:00Z | night | 2025-11-02T06:30:00Z |
  | Atlantic/Azores  | 00:30 | 07:30 | 2025-10-26T00:15:00Z |       | 2025-10-26T00:30:00Z |
  | Atlantic/Azores  | 00:30 | 07:30 | 2025-10-26T01:15:00Z |       | 2025-10-26T01:30:00Z |
`)

const secondOf = (text: string) => {
  const [hours, minutes] = text.split(':').map(Number) as [number, number]
  return hours * 3600 + minutes * 60
}

describe('a night in an hour that is repeated or skipped', () => {
  it.each(CASES)('$from to $to in $zone at $at: "$band" until $until', (row) => {
    const { zone, from, to, at, band: name, until } = row as Record<string, string>
    const price = priceOf(band('night', secondOf(from!), secondOf(to!)))
    const found = priceAt(price, Date.parse(at!), zone!)
    expect(found.band).toBe(name)
    expect(new Date(found.endMs)).toEqual(new Date(until!))
  })
})
