import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LineRounding, TaxRule } from '../../src/domain/tax.ts'
import { finalCharge } from '../../src/rating/line-tax.ts'
import { add, fraction, fromDecimal, times } from '../support/domain/fraction.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { readTable } from '../support/domain/table.ts'

const ruleOf = (key: string, rate: string, isEmbedded = false): TaxRule => ({
  key,
  description: key === 'DEFAULT_VAT' ? 'VAT' : key,
  type: 'vat',
  rate,
  isEmbedded,
})
const VAT = ruleOf('DEFAULT_VAT', '0.17')

/** Rounding and tax, with their negative counterparts. `none`: not rounded. */
const CASES = readTable(`
  | aprice    | taxes         | rounding  | final    | shown aprice | tax          |
  |-----------|---------------|-----------|----------|--------------|--------------|
  | 1.5       |               | none      | 1.5      | 1.5          | 0            |
  | 100       | 0.17          | none      | 117      | 100          | 17           |
  | 5         | 0.2           | none      | 6        | 5            | 1            |
  | 1.5       | 0.17          | none      | 1.755    | 1.5          | 0.255        |
  | 1.5       | 0.17          | up 0      | 2        | 1.7094017094 | 0.2905982906 |
  | 1.5       | 0.17          | up 2      | 1.76     | 1.5042735043 | 0.2557264957 |
  | 1.5       | 0.17          | down 1    | 1.7      | 1.4529914530 | 0.2470085470 |
  | 1.5       | 0.17          | nearest 0 | 2        | 1.7094017094 | 0.2905982906 |
  | 1.5       | 0.17          | nearest 1 | 1.8      | 1.5384615385 | 0.2615384615 |
  | 1.5       | 0.17          | nearest 2 | 1.76     | 1.5042735043 | 0.2557264957 |
  | 1.5       | 0.17          | down 3    | 1.755    | 1.5          | 0.255        |
  | 1.5       | 0.17 embedded | none      | 1.755    | 1.755        | 0            |
  | 1.5       | 0.17 embedded | up 0      | 2        | 2            | 0            |
  | 10        | 0.1, 0.05     | none      | 11.5     | 10           | 1.5          |
  | 10        | 0.1e, 0.05    | none      | 11.5     | 11           | 0.5          |
  | 0.000001  | 0.000001      | none      | 0.000001000001 | 0.000001 | 0.000000000001 |
  | 0.004     |               | down 2    | 0        | 0            | 0            |
  | 0         | 0.17          | up 2      | 0        | 0            | 0            |
  | -1.5      | 0.17          | none      | -1.755   | -1.5         | -0.255       |
  | -1.5      | 0.17          | up 0      | -2       | -1.7094017094 | -0.2905982906 |
  | -1.5      | 0.17          | down 1    | -1.7     | -1.4529914530 | -0.2470085470 |
  | -1.5      | 0.17          | nearest 2 | -1.76    | -1.5042735043 | -0.2557264957 |
`)

function rulesOf(text: string): TaxRule[] {
  const rates = text.split(',').filter((rate) => rate !== '')
  return rates.map((rate, index) =>
    ruleOf(`T${index}`, rate.trim().replace(/ ?e.*/, ''), rate.includes('e')),
  )
}

function roundingOf(text: string): LineRounding | null {
  const [mode, decimals] = text.split(' ')
  if (mode === 'none') return null
  return { mode: mode as LineRounding['mode'], decimals: Number(decimals) }
}

describe('the tax of a line', () => {
  it.each(CASES)('$aprice, taxed $taxes, rounded $rounding: $final', (row) => {
    const micros = Math.round(Number(row['aprice']) * 1_000_000)
    const rules = rulesOf(row['taxes'] ?? '')
    const charge = finalCharge(micros, rules, roundingOf(row['rounding'] ?? ''))
    expect(charge).toMatchObject({
      aprice: Number(row['shown aprice']),
      final_charge: Number(row['final']),
      tax_data: { total_amount: Number(row['tax']) },
      exact: { final_charge: row['final'] },
    })
    const total = add(fromDecimal(charge.exact.aprice), fromDecimal(charge.exact.tax))
    expect(total).toEqual(fromDecimal(charge.exact.final_charge))
  })

  it('shows each tax with its amount', () => {
    expect(finalCharge(1_500_000, [VAT], null)).toEqual({
      aprice: 1.5,
      final_charge: 1.755,
      tax_data: {
        total_amount: 0.255,
        total_tax: 0.17,
        taxes: [
          {
            tax: 0.17,
            amount: 0.255,
            description: 'VAT',
            key: 'DEFAULT_VAT',
            type: 'vat',
            pass_to_customer: 1,
          },
        ],
      },
      exact: { aprice: '1.5', tax: '0.255', final_charge: '1.755' },
    })
  })

  it('keeps the amounts before rounding', () => {
    const charge = finalCharge(1_500_000, [VAT], { mode: 'up', decimals: 0 })
    expect(charge.before_rounding).toEqual({ final_charge: 1.755, aprice: 1.5 })
    expect(charge.tax_data).toMatchObject({
      total_amount_before_rounding: 0.255,
      taxes: [{ amount: 0.2905982906, amount_before_rounding: 0.255 }],
    })
  })

  it('is part of the price if embedded: its amount is kept, and 0 is due', () => {
    const { tax_data } = finalCharge(1_500_000, [ruleOf('IN', '0.17', true)], null)
    expect(tax_data).toMatchObject({
      total_amount: 0,
      total_tax: 0.17,
      taxes: [{ key: 'IN', amount: 0, embedded_amount: 0.255 }],
    })
  })

  it('is an empty section without taxes', () => {
    const { tax_data } = finalCharge(7, [], null)
    expect(tax_data).toEqual({ total_amount: 0, total_tax: 0, taxes: [] })
  })

  it('is exact for prices of any size and rates of any precision', () => {
    const rate = fc.integer({ min: 0, max: 10 ** 9 }).map((digits) => {
      const text = String(digits).padStart(10, '0')
      return `${text.slice(0, 1)}.${text.slice(1)}`
    })
    const micros = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
    fc.assert(
      fc.property(micros, fc.array(rate, { maxLength: 3 }), (price, rates) => {
        const rules = rates.map((one, index) => ruleOf(`T${index}`, one))
        const { exact } = finalCharge(price, rules, null)
        const part = rates.reduce((sum, one) => add(sum, fromDecimal(one)), fraction(1))
        expect(fromDecimal(exact.final_charge)).toEqual(times(fraction(price, 1_000_000), part))
      }),
      propertyRuns(300),
    )
  })
})
