import { describe, expect, it } from 'vitest'
import {
  dateText,
  dayAfter,
  dayNumber,
  dayOf,
  dayStartMs,
  monthsLater,
} from '../../../src/billing/cycle/days.ts'
import {
  dayParts,
  monthParts,
  monthsBetween,
  monthsInTier,
} from '../../../src/billing/cycle/price.ts'
import { Exact } from '../../../src/rating/line-tax.ts'

const day = (text: string) => Math.floor(Date.parse(text) / 86_400_000)
const exact = (value: number | string) => new Exact(value)
const tier = (from: number, to: number | null, price: number) => ({
  from: exact(from),
  to: to === null ? null : exact(to),
  price: exact(price),
})

describe('calendar days', () => {
  it.each([
    ['Asia/Jerusalem', '2024-03-28T22:00:00Z', '2024-03-29'],
    ['Asia/Jerusalem', '2024-03-29T21:00:00Z', '2024-03-30'],
    ['America/New_York', '2024-11-03T03:59:59Z', '2024-11-02'],
    ['UTC', '2024-02-29T23:59:59.999Z', '2024-02-29'],
  ])('in %s %s is on %s', (zone, time, date) => {
    const number = dayOf(zone, Date.parse(time))
    expect(dateText(number)).toBe(date)
    expect(dayStartMs(zone, number)).toBeLessThanOrEqual(Date.parse(time))
    expect(dayOf(zone, dayStartMs(zone, number))).toBe(number)
    expect(dayOf(zone, dayStartMs(zone, number) - 1)).toBe(number - 1)
  })

  it.each([
    ['2024-05-10T00:00:00Z', '2024-05-10'],
    ['2024-05-10T00:00:00.001Z', '2024-05-11'],
    ['2024-05-10T16:16:00Z', '2024-05-11'],
  ])('a period that ends at %s does not count %s', (end, date) => {
    expect(dateText(dayAfter('UTC', Date.parse(end)))).toBe(date)
  })

  it('begin later where a clock change skips midnight', () => {
    // In Beirut clocks go from 0:00 to 1:00.
    const number = day('2024-03-31')
    expect(new Date(dayStartMs('Asia/Beirut', number)).toISOString()).toBe(
      '2024-03-30T22:00:00.000Z',
    )
    expect(dayAfter('Asia/Beirut', Date.parse('2024-03-30T22:00:00Z'))).toBe(number)
  })

  it.each([
    ['2025-01-31', 1, '2025-02-28'],
    ['2024-01-31', 1, '2024-02-29'],
    ['2024-11-30', 3, '2025-02-28'],
    ['2024-01-15', -1, '2023-12-15'],
    ['2024-05-15', 24, '2026-05-15'],
  ])('%s and %i months is %s', (from, months, to) => {
    expect(dateText(monthsLater(day(from), months))).toBe(to)
  })

  it('are numbered from 1970', () => {
    expect(dayNumber(1970, 1, 2)).toBe(1)
  })
})

describe('months between two days, both counted', () => {
  it.each([
    ['2019-02-11', '2019-02-12', '2/28'],
    ['2017-11-01', '2018-11-01', '12+1/30'],
    ['2019-03-01', '2019-03-10', '10/31'],
    ['2019-03-01', '2019-03-31', '1'],
    ['2019-01-01', '2019-12-31', '12'],
    ['2018-12-31', '2019-01-01', '2/31'],
    ['2019-02-01', '2020-02-29', '13'],
    ['2020-07-01', '2020-07-30', '30/31'],
    ['2015-02-06', '2015-03-10', '23/28+10/31'],
    ['2016-02-06', '2016-03-10', '24/29+10/31'],
    ['2015-11-06', '2016-01-15', '25/30+1+15/31'],
    ['2014-12-06', '2015-02-15', '26/31+1+15/28'],
    ['2015-03-10', '2015-02-06', '0'],
  ])('%s to %s: %s', (from, to, months) => {
    const sum = months.split('+').reduce((all, part) => {
      const [top = '0', bottom = '1'] = part.split('/')
      return all.plus(exact(top).div(bottom))
    }, exact(0))
    expect(monthsBetween(day(from), day(to)).minus(sum).abs().toNumber()).toBeLessThan(1e-50)
  })
})

describe('a tier by months', () => {
  it.each([
    [0, 100, 1, 10, 50, 40],
    [0, 100, 2, 45, 50, 10],
    [0, 100, 0.25, 40, 50, 2.5],
    [10, 100, 2, 1, 50, 80],
    [49, 100, 2, 6, 50, 2],
    [0, 50, 3, 10, 51, 120],
    [0, 50, 3, 49, 56, 3],
    [100, 110, 1, 15, 50, 0],
    [1, 10, 1, 15, 50, 0],
    [0, 100, 1, 55, 50, 0],
  ])('%i to %i at %d, months %d to %d: %d', (from, to, price, start, end, amount) => {
    const offsets = { start: exact(start), end: exact(end) }
    const part = monthsInTier({ from: exact(from), to: exact(to) }, offsets, null)
    expect(part.times(price).toNumber()).toBe(amount)
  })

  const TIERS = [tier(0, 3, 1), tier(3, 6, 10), tier(6, null, 100)]
  it.each([
    [[tier(0, 3, 10)], 0, 0, 1, 31, 10],
    [[tier(0, null, 10)], 0, 3, 4, 31, 10],
    [[tier(0, null, 10)], 0, 0.967741935, 1, 31, 0.32258065],
    [TIERS, 1, 3.5, 4.5, 31, 10],
    [TIERS, 2, 6.5, 7.5, 31, 100],
  ] as const)('%j, number %i, months %d to %d', (tiers, number, start, end, activation, amount) => {
    const offsets = { start: exact(start), end: exact(end) }
    const found = tiers[number] ?? tier(0, null, 0)
    const part = monthsInTier(found, offsets, { activation, last: 30 })
    expect(part.times(found.price).toNumber()).toBeCloseTo(amount, 9)
  })
})

describe('a part of a cycle', () => {
  const april = { cycleDays: 30, cycleMonths: 1 }

  it('crosses a tier on the day of the month of the activation', () => {
    const tiers = [tier(0, 3, 10), tier(3, null, 100)]
    const days = {
      ...april,
      fromDay: day('2025-04-01'),
      toDay: day('2025-05-01'),
      activationDay: day('2025-01-15'),
    }
    const parts = dayParts(days, tiers)
    expect(parts.map(({ fromDay, toDay }) => [dateText(fromDay), dateText(toDay)])).toEqual([
      ['2025-04-01', '2025-04-15'],
      ['2025-04-15', '2025-05-01'],
    ])
    expect(parts.map(({ factorText }) => factorText)).toEqual(['14/30', '16/30'])
    // Fractions of calendar months move the boundary to the same day.
    const byMonth = monthParts(days, tiers)
    expect(byMonth.map(({ factor }) => factor.toNumber())).toEqual([
      expect.closeTo(14 / 30, 12),
      expect.closeTo(16 / 30, 12),
    ])
  })

  it('of several tiers beyond the last one is nothing', () => {
    const tiers = [tier(0, 2, 100), tier(2, 5, 200), tier(5, 7, 300)]
    const days = { ...april, activationDay: day('2023-12-01') }
    const of = (from: string, to: string, cycleDays: number) =>
      dayParts({ ...days, cycleDays, fromDay: day(from), toDay: day(to) }, tiers).map(
        ({ tier: found, factorText }) => [found.price.toNumber(), factorText],
      )
    expect(of('2024-02-01', '2024-03-01', 29)).toEqual([[200, '1']])
    expect(of('2024-05-01', '2024-06-01', 31)).toEqual([[300, '1']])
    expect(of('2024-07-01', '2024-08-01', 31)).toEqual([])
  })

  it('with a tier that ends within a month takes the nearest midnight', () => {
    const days = { cycleDays: 31, cycleMonths: 1, activationDay: day('2025-01-01') }
    const whole = { ...days, fromDay: day('2025-01-01'), toDay: day('2025-02-01') }
    const parts = dayParts(whole, [tier(0, 0.5, 10), tier(0.5, null, 20)])
    expect(parts.map(({ factorText }) => factorText)).toEqual(['16/31', '15/31'])
  })
})

describe('fractions of calendar months', () => {
  it('of a whole cycle are not 1 if it does not begin on day 1', () => {
    const days = {
      cycleDays: 30,
      cycleMonths: 1,
      fromDay: day('2024-04-10'),
      toDay: day('2024-05-10'),
      activationDay: day('2024-04-10'),
    }
    const [part] = monthParts(days, [tier(0, null, 1)])
    expect(part?.factor.toNumber()).toBeCloseTo(21 / 30 + 9 / 31, 12)
    expect(dayParts(days, [tier(0, null, 1)])[0]?.factor.toNumber()).toBe(1)
  })
})
