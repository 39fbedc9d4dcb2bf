import { Decimal } from 'decimal.js'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { installmentTimes, splitAmount } from '../../../src/billing/credit/credit-lines.ts'
import { currencyDigits } from '../../../src/billing/currency.ts'

it.each([
  ['100', 3, 978, ['33.33', '33.33', '33.34']],
  ['-100', 3, 978, ['-33.33', '-33.33', '-33.34']],
  ['100', 3, 392, ['33', '33', '34']],
  ['100', 3, 414, ['33.333', '33.333', '33.334']],
  ['0', 2, 840, ['0', '0']],
])('%s in %i parts in the currency %i', (total, parts, currency, amounts) => {
  const split = splitAmount(new Decimal(total), parts, currencyDigits(currency))
  expect(split.map((amount) => amount.plus(0).toString())).toEqual(amounts)
})

it('parts add up to the amount, in whole units except for the last', () => {
  fc.assert(
    fc.property(
      fc.bigInt(-(10n ** 15n), 10n ** 15n),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 1, max: 60 }),
      (digits, scale, parts) => {
        const total = new Decimal(`${digits}e-${scale}`)
        const split = splitAmount(total, parts, 2)
        expect(split).toHaveLength(parts)
        const sum = split.reduce((all, amount) => all.plus(amount), new Decimal(0))
        expect(sum.equals(total)).toBe(true)
        for (const amount of split.slice(0, -1)) {
          expect(amount.decimalPlaces()).toBeLessThanOrEqual(2)
          expect(amount.abs().lte(total.abs())).toBe(true)
        }
      },
    ),
  )
})

it('dates follow the cycles', () => {
  const calendar = { zone: 'UTC', cycleDay: 15 }
  const times = installmentTimes(Date.parse('2026-11-20T10:00:00Z'), 3, null, calendar)
  expect(times.map(({ atMs, key }) => [new Date(atMs).toISOString(), key])).toEqual([
    ['2026-11-20T10:00:00.000Z', null],
    ['2026-12-15T00:00:01.000Z', null],
    ['2027-01-15T00:00:01.000Z', null],
  ])
})
