import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spreadRounding, viewOf } from '../../../src/billing/documents/view.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import { dueOf, invoice, line, settings, vat } from '../../support/billing/invoices.ts'

const amounts = (texts: readonly string[]) => texts.map((text) => new Exact(text))
const texts = (values: readonly { toFixed(): string }[]) => values.map((value) => value.toFixed())

describe('lines are rounded by largest remainder', () => {
  it.each([
    [
      ['0.333', '0.333', '0.334'],
      ['0.33', '0.33', '0.34'],
    ],
    [
      ['0.335', '0.335', '0.335'],
      ['0.34', '0.34', '0.33'],
    ],
    [
      ['10.005', '-10.005'],
      ['10.01', '-10.01'],
    ],
    [['-0.005'], ['-0.01']],
    [['0.005'], ['0.01']],
    [['0.004'], ['0']],
    [
      ['1.25', '2.5', '-0.75'],
      ['1.25', '2.5', '-0.75'],
    ],
    [[], []],
  ])('%j', (given, expected) => {
    expect(texts(spreadRounding(amounts(given), 2))).toEqual(expected)
  })

  it('in whole units of the currency', () => {
    expect(texts(spreadRounding(amounts(['0.4', '0.4', '0.4']), 0))).toEqual(['1', '0', '0'])
    expect(texts(spreadRounding(amounts(['0.0004', '0.0004']), 3))).toEqual(['0.001', '0'])
  })
})

describe('the document view', () => {
  it('computes the tax of a group from its rounded base', () => {
    const lines = [line('45.161290'), line('45.161290'), line('9.999', { taxes: [vat('0.07')] })]
    const { groups, totals, lines: shown } = viewOf(invoice(dueOf(lines), lines))
    expect(texts(shown.map(({ amount }) => amount))).toEqual(['45.16', '45.16', '10'])
    expect(groups.map(({ base, tax }) => [base.toFixed(), tax.toFixed()])).toEqual([
      ['90.32', '17.16'],
      ['10', '0.7'],
    ])
    // 107.4838702 + 10.69893 = 118.1828 is a bill of 118.18.
    expect(texts([totals.beforeTax, totals.tax, totals.afterTax])).toEqual([
      '100.32',
      '17.86',
      '118.18',
    ])
    expect(texts([totals.rounding, totals.payable])).toEqual(['0', '118.18'])
  })

  it('shows what is left as rounding amount', () => {
    const lines = ['0.19', '0.07', '0.05'].map((rate) => line('0.005', { taxes: [vat(rate)] }))
    const { totals } = viewOf(invoice(dueOf(lines), lines))
    expect(texts([totals.beforeTax, totals.payable, totals.rounding])).toEqual([
      '0.03',
      '0.02',
      '-0.01',
    ])
  })

  it('turns the signs of a credit note round', () => {
    const lines = [line('-68.907563025')]
    const { totals, lines: shown } = viewOf(invoice('-82', lines, { kind: 'credit_note' }))
    expect(shown[0]?.amount.toFixed()).toBe('68.91')
    expect(texts([totals.tax, totals.rounding, totals.payable])).toEqual(['13.09', '0', '82'])
  })

  it('has one group for all lines of a category and rate, with all reasons', () => {
    const taxes = {
      BOOKS: { category: 'E', reason: 'Books' },
      CARE: { category: 'E', reason: 'Care', reason_code: 'VATEX-EU-132' },
    }
    const lines = ['BOOKS', 'CARE', 'BOOKS'].map((key) => line('1', { taxes: [vat('0', key)] }))
    const { groups } = viewOf(invoice('3', lines, { settings: settings({ taxes }) }))
    expect(groups.map(({ base, vat: each }) => [base.toFixed(), each?.reason])).toEqual([
      ['3', 'Books; Care'],
    ])
  })

  it('says nothing about VAT on lines without tax, unless the settings do', () => {
    const source = invoice('1', [line('1', { taxes: [] })], {
      settings: settings({ untaxed: undefined }),
    })
    expect(viewOf(source).groups).toMatchObject([{ id: 'untaxed', vat: null }])
    expect(viewOf(invoice('1', [line('1', { taxes: [] })])).groups).toMatchObject([
      { id: 'E 0', vat: { reason: 'Exempt from VAT' } },
    ])
  })

  it.each([
    [392, 0, ['1', '0']],
    [978, 2, ['0.4', '0.4']],
    [414, 3, ['0.4', '0.4']],
  ])('has the decimals of currency %d', (currencyCode, digits, expected) => {
    const lines = [line('0.4', { taxes: [] }), line('0.4', { taxes: [] })]
    const source = invoice('0.8', lines, { settings: settings({}, currencyCode) })
    const view = viewOf(source)
    expect(view.digits).toBe(digits)
    expect(texts(view.lines.map(({ amount }) => amount))).toEqual(expected)
    expect(view.totals.payable.toFixed()).toBe('0.8')
  })

  const RATES = ['0.19', '0.07', '0.055', '0', '0.2']
  const anyLine = fc
    .record({
      micros: fc.integer({ min: -2_000_000_000, max: 2_000_000_000 }),
      rates: fc.subarray(RATES, { maxLength: 2 }),
    })
    .map(({ micros, rates }) => {
      return line(new Exact(micros).div(1_000_000).toFixed(), { taxes: rates.map((r) => vat(r)) })
    })

  it('adds up on every level, and differs little from the exact lines', () => {
    const sources = fc.record({
      lines: fc.array(anyLine, { maxLength: 12 }),
      kind: fc.constantFrom('invoice' as const, 'credit_note' as const),
      currencyCode: fc.constantFrom(978, 392, 414),
    })
    fc.assert(
      fc.property(sources, ({ lines, kind, currencyCode }) => {
        const due = dueOf(lines)
        const source = invoice(due, lines, { kind, settings: settings({}, currencyCode) })
        const { lines: shown, groups, totals, digits } = viewOf(source)
        const unit = new Exact(10).pow(-digits)
        const sum = (values: readonly Exact[]) =>
          values.reduce((total, value) => total.plus(value), new Exact(0))
        expect(shown).toHaveLength(lines.length)
        for (const { amount, exact } of shown) {
          expect(amount.decimalPlaces()).toBeLessThanOrEqual(digits)
          expect(amount.minus(exact).abs().lessThan(unit)).toBe(true)
        }
        for (const group of groups) {
          const own = shown.filter((each) => each.group === group)
          expect(sum(own.map(({ amount }) => amount))).toEqual(group.base)
          const base = sum(own.map(({ exact }) => exact))
          expect(base.toDecimalPlaces(digits, Exact.ROUND_HALF_UP).equals(group.base)).toBe(true)
          for (const { amount, rate } of group.taxes) {
            const tax = group.base.times(rate).toDecimalPlaces(digits, Exact.ROUND_HALF_UP)
            expect(amount.equals(tax)).toBe(true)
          }
        }
        expect(sum(shown.map(({ amount }) => amount)).equals(totals.beforeTax)).toBe(true)
        expect(totals.afterTax.equals(totals.beforeTax.plus(totals.tax))).toBe(true)
        const sign = kind === 'credit_note' ? -1 : 1
        expect(totals.afterTax.plus(totals.rounding).equals(new Exact(due).times(sign))).toBe(true)
        // Half a unit for each base with its tax, for each tax, and for the bill (two decimals).
        const parts = groups.map(({ taxes }) => 0.5 * (1.4 + taxes.length))
        const most = unit.times(parts.reduce((total, part) => total + part, 0)).plus('0.005')
        expect(totals.rounding.abs().lessThanOrEqualTo(most)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('shows nothing for a charge and its full discount', () => {
    const discounted = fc.integer({ min: 1, max: 2_000_000_000 }).map((micros) => {
      const amount = new Exact(micros).div(1_000_000)
      const discount = line(amount.negated().toFixed(), { type: 'discount' })
      return [line(amount.toFixed()), discount]
    })
    fc.assert(
      fc.property(discounted, (lines) => {
        const { totals } = viewOf(invoice('0', lines))
        expect(Object.values(totals).every((value: Exact) => value.isZero())).toBe(true)
      }),
    )
  })
})
