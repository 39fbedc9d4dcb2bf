import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { cycleOf, instantOf, periodEnd } from '../support/rating/model/calendar.ts'
import { quoteCases } from '../support/rating/model/generate.ts'
import { moneyOf, rateOf } from '../support/rating/model/generate-prices.ts'
import { modelCase } from '../support/rating/model/model.ts'
import { payableSteps, priceOf, tariffOf } from '../support/rating/model/price.ts'

const runs = propertyRuns(300)
/** A case runs for a few milliseconds; the long mode has a hundred thousand cases. */
const TIMEOUT_MS = Math.max(60_000, runs.numRuns * 20)

const tariffs = rateOf('R1', true).filter(({ rates }) => rates['call']!['BASE'] !== undefined)

describe('the model of the property tests', () => {
  it(
    'finds by bisection what a unit-by-unit count finds',
    () => {
      const story = fc.record({
        rate: tariffs,
        money: moneyOf(4000, [6, 3, 1]),
        from: fc.integer({ min: 0, max: 5 }),
        asked: fc.integer({ min: 0, max: 300 }),
      })
      fc.assert(
        fc.property(story, ({ rate, money, from, asked }) => {
          const tariff = tariffOf(rate, rate.rates['call']!['BASE']!, null, 10n)
          const micros = BigInt(Math.round(money * 1e6))
          const range = { from: BigInt(from), upTo: BigInt(from + asked) }
          let counted = range.from
          while (counted < range.upTo && priceOf(tariff, counted + 1n, true) <= micros)
            counted += 1n
          expect(payableSteps(tariff, true, range, micros)).toBe(counted)
        }),
        runs,
      )
    },
    TIMEOUT_MS,
  )

  it(
    'grants no more than requested, and counts every granted unit once',
    () => {
      fc.assert(
        fc.property(quoteCases, (story) => {
          for (const [index, result] of modelCase(story).entries()) {
            const { granted, aprice, in_group = 0, over_group = 0, out_group = 0 } = result
            expect(granted).toBeLessThanOrEqual(story.events[index]!.usagev)
            expect(in_group + over_group + out_group).toBeCloseTo(granted, 9)
            expect(aprice).toBeGreaterThanOrEqual(0)
            if (over_group + out_group === 0) expect(aprice).toBe(0)
          }
        }),
        runs,
      )
    },
    TIMEOUT_MS,
  )

  it.each([
    ['UTC', 1, '2026-01-31T23:59:59Z', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'],
    ['UTC', 15, '2026-01-14T23:59:59Z', '2025-12-15T00:00:00Z', '2026-01-15T00:00:00Z'],
    ['Europe/Berlin', 1, '2026-02-28T23:00:00Z', '2026-02-28T23:00:00Z', '2026-03-31T22:00:00Z'],
    ['America/New_York', 7, '2026-03-07T04:59:59Z', '2026-02-07T05:00:00Z', '2026-03-07T05:00:00Z'],
  ])('%s, day %i: the cycle of %s is from %s to %s', (zone, day, at, from, to) => {
    const cycle = cycleOf(Date.parse(at), zone, day)
    expect(cycle).toEqual({ fromMs: Date.parse(from), toMs: Date.parse(to) })
  })

  it.each([
    ['+2 weeks', '2026-01-10 00:00:00', '2026-01-24 00:00:00'],
    ['+14 days', '2026-03-20 10:30:00', '2026-04-03 10:30:00'],
    ['+1 months', '2026-12-05 00:00:00', '2027-01-05 00:00:00'],
    ['tomorrow +6 days', '2026-03-25 10:30:00', '2026-04-01 00:00:00'],
  ])('%s from %s end at %s, also across a change of the clock', (period, from, end) => {
    const zone = 'Europe/Berlin'
    expect(periodEnd(period, instantOf(from, zone), zone)).toBe(instantOf(end, zone))
  })
})
