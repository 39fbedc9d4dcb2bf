import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimalText, numberOf, unitsOf } from '../../../src/billing/cycle/exact-sums.ts'
import {
  type InvoiceInput,
  invoiceDocument,
  withBalance,
} from '../../../src/billing/cycle/invoice.ts'
import type { InvoiceLine } from '../../../src/billing/cycle/totals.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import {
  type AmountsDocument,
  INVOICE_SECTIONS,
} from '../../../src/catalog/records/money/invoice-document.ts'
import type { TaxRule } from '../../../src/domain/tax.ts'
import { finalChargeOf } from '../../../src/rating/line-tax.ts'
import { cycleOf } from '../../support/billing/cycle.ts'
import { propertyRuns } from '../../support/domain/property-runs.ts'

const cycle = cycleOf('202405')
const VAT: TaxRule = {
  key: 'DEFAULT_VAT',
  description: 'VAT',
  type: 'vat',
  rate: '0.17',
  isEmbedded: false,
}
const LOCAL: TaxRule = { ...VAT, key: 'LOCAL', description: 'Local tax', rate: '0.05' }

const lineOf = (
  amount: number | string,
  fields: Partial<InvoiceLine>,
  rules: readonly TaxRule[] = [VAT],
) => ({
  sid: 2,
  type: 'flat',
  usagev: 1,
  ...fields,
  ...finalChargeOf(new Exact(amount), rules, null),
})

const input = (lines: readonly InvoiceLine[], more: Partial<InvoiceInput> = {}): InvoiceInput => ({
  aid: 1,
  billrunKey: '202405',
  span: cycle,
  invoiceType: 'regular',
  account: {
    _id: 'x',
    aid: 1,
    firstname: 'Dana',
    lastname: 'Levi',
    email: 'dana@example.org',
    address: 'Main street 1',
    payment_gateway: { active: { name: 'x', card_token: 'secret', four_digits: '4242' } },
  },
  subscribers: [{ sid: 2, document: { sid: 2, firstname: 'Dana', plan: 'PLAN_X' } }],
  lines,
  currencyDigits: 2,
  nowMs: cycle.endMs + 1000,
  ...more,
})

describe('an invoice', () => {
  const lines = [
    lineOf('45.1612903', { name: 'PLAN_X' }),
    lineOf(10, { type: 'service', name: 'TV' }, []),
    lineOf(1.25, { type: 'realtime', usaget: 'call', arate_key: 'CALL', usagev: 60 }),
    lineOf(0.75, { type: 'realtime', usaget: 'call', arate_key: 'CALL', usagev: 30 }),
    lineOf(-5, { type: 'credit', usaget: 'refund', rate: 'FEE', label: 'Sorry' }),
    lineOf(3, { type: 'credit', usaget: 'charge', rate: 'FEE', sid: 0 }),
    lineOf(50, { type: 'credit', usaget: 'conditional_charge', key: 'C', description: 'Extra' }),
    lineOf(-4.5, { type: 'credit', usaget: 'discount', key: 'D', description: 'Ten %' }),
  ]
  const invoice = invoiceDocument(input(lines))

  it('has totals, exact and as numbers', () => {
    expect(invoice.totals).toMatchObject({
      before_vat: 100.6612903,
      after_vat: 116.073709651,
      after_vat_rounded: 116.07,
      vatable: 90.6612903,
      exact: { before_vat: '100.6612903', after_vat: '116.073709651', vatable: '90.6612903' },
      flat: { before_vat: 45.1612903, after_vat: 52.838709651, vatable: 45.1612903 },
      service: { before_vat: 10, after_vat: 10, vatable: 0 },
      usage: { before_vat: 2, after_vat: 2.34, vatable: 2 },
      refund: { before_vat: -5, after_vat: -5.85 },
      charge: { before_vat: 53, after_vat: 62.01 },
      discount: { before_vat: -4.5, after_vat: -5.265 },
      taxes: { VAT: 15.412419351 },
      tax_data: {
        total_amount: 15.412419351,
        total_tax: 0.17,
        taxes: { DEFAULT_VAT: { tax: 0.17, amount: 15.412419351, exact: '15.412419351' } },
      },
      current_balance: { after_vat: 116.07 },
      grouping: [],
    })
    expect(invoice.totals).not.toHaveProperty('past_balance')
  })

  it('has a breakdown per subscriber, the account first', () => {
    expect(invoice.subs.map(({ sid }) => sid)).toEqual([0, 2])
    const [account, subscriber] = invoice.subs
    expect(account?.breakdown).toEqual({
      charge: [
        {
          name: 'FEE',
          count: 1,
          usagev: 1,
          cost: 3,
          after_vat: 3.51,
          exact: { cost: '3', after_vat: '3.51' },
        },
      ],
    })
    expect(subscriber).toMatchObject({ firstname: 'Dana', plan: 'PLAN_X' })
    expect(subscriber?.breakdown).toMatchObject({
      flat: [{ name: 'PLAN_X', count: 1, usagev: 1, cost: 45.1612903 }],
      usage: [{ name: 'CALL', count: 2, usagev: 90, cost: 2 }],
      refund: [{ name: 'FEE', description: 'Sorry', cost: -5 }],
      charge: [{ name: 'C', description: 'Extra', cost: 50 }],
      discount: [{ name: 'D', description: 'Ten %', cost: -4.5 }],
    })
    expect(subscriber?.totals).toMatchObject({ before_vat: 97.6612903, vatable: 87.6612903 })
    expect(account?.totals).not.toHaveProperty('flat')
  })

  it('has its dates, whom it is for, and what applied then', () => {
    expect(invoice).toMatchObject({
      aid: 1,
      billrun_key: '202405',
      invoice_date: new Date(cycle.endMs),
      start_date: new Date(cycle.startMs),
      end_date: new Date(cycle.endMs),
      creation_time: new Date(cycle.endMs + 1000),
      attributes: {
        firstname: 'Dana',
        lastname: 'Levi',
        fullname: 'Dana Levi',
        address: 'Main street 1',
        email: 'dana@example.org',
        payment_details: 'card ending in 4242',
        invoice_type: 'regular',
      },
      account: { aid: 1, firstname: 'Dana' },
      tax_rules: { DEFAULT_VAT: { description: 'VAT', tax: 0.17, embed_tax: false } },
    })
    expect(JSON.stringify(invoice)).not.toContain('secret')
    expect(invoice.account).not.toHaveProperty('_id')
    const seller = { name: 'Tollgate' }
    expect(invoiceDocument(input([], { seller })).seller).toEqual(seller)
  })

  it('has the balance before it, if there was one', () => {
    const balance = { total: new Exact('10'), withoutWaiting: new Exact('8.5') }
    const { totals } = withBalance(invoice, balance, { currencyDigits: 2 })
    expect(totals.past_balance).toEqual({
      after_vat: '10.00',
      without_waiting: { after_vat: '8.50' },
    })
    expect(totals.current_balance).toEqual({ after_vat: 126.07 })
    const none = { total: new Exact(0), withoutWaiting: new Exact(0) }
    expect(invoiceDocument(input(lines, { balance: none })).totals).toEqual(invoice.totals)
  })

  it.each([
    ['0.005', 2, 0.01],
    ['-0.005', 2, -0.01],
    ['0.0049', 2, 0],
    ['-0.004', 2, 0],
    ['2.5', 0, 3],
    ['1.2345', 3, 1.235],
  ])('of %s with %d decimals is rounded to %d', (amount, currencyDigits, expected) => {
    const { totals } = invoiceDocument(input([lineOf(amount, {}, [])], { currencyDigits }))
    expect(Object.is(totals.after_vat_rounded, expected)).toBe(true)
  })

  it('lists a subscriber without lines, and a former one with lines', () => {
    const { subs } = invoiceDocument(input([lineOf(1, { sid: 9, type: 'realtime' })]))
    expect(subs.map(({ sid, plan }) => [sid, plan])).toEqual([
      [2, 'PLAN_X'],
      [9, undefined],
    ])
    expect(subs[0]).toMatchObject({ breakdown: {}, totals: { before_vat: 0, after_vat: 0 } })
  })

  it('shows a tax for each of its rates', () => {
    const later = { ...VAT, rate: '0.18' }
    const all = [lineOf(10, {}), lineOf(10, {}, [later]), lineOf(10, {}), lineOf(10, {}, [later])]
    const { tax_data, taxes } = invoiceDocument(input(all)).totals
    expect(taxes).toEqual({ VAT: 7 })
    expect(tax_data.taxes).toMatchObject({
      DEFAULT_VAT: { tax: 0.17, amount: 3.4 },
      'DEFAULT_VAT 0.18': { key: 'DEFAULT_VAT', tax: 0.18, amount: 3.6 },
    })
  })
})

const anyLine = fc
  .record({
    sid: fc.integer({ min: 0, max: 3 }),
    kind: fc.constantFrom(
      { type: 'flat', name: 'P' },
      { type: 'service', name: 'S' },
      { type: 'realtime', arate_key: 'CALL' },
      { type: 'realtime', arate_key: 'SMS' },
      { type: 'credit', usaget: 'refund', rate: 'FEE' },
      { type: 'credit', usaget: 'charge', rate: 'FEE' },
      { type: 'credit', usaget: 'discount', key: 'D' },
      { type: 'credit', usaget: 'conditional_charge', key: 'C' },
    ),
    digits: fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }),
    rules: fc.constantFrom([], [VAT], [VAT, LOCAL], [{ ...LOCAL, isEmbedded: true }, VAT]),
  })
  .map(({ sid, kind, digits, rules }) => lineOf(`${digits}e-12`, { sid, ...kind }, rules))

it('the sum of the lines is that of every level, exactly', () => {
  const sum = (amounts: readonly string[]) =>
    amounts.reduce((total, amount) => total.plus(amount), new Exact(0)).toString()
  const parts = (of: Partial<Record<string, unknown>>) =>
    INVOICE_SECTIONS.flatMap((section) => (of[section] as AmountsDocument | undefined) ?? [])
  fc.assert(
    fc.property(fc.array(anyLine, { maxLength: 30 }), (lines) => {
      const { subs, totals } = invoiceDocument(input(lines))
      const before = sum(lines.map(({ exact }) => exact.aprice))
      const after = sum(lines.map(({ exact }) => exact.final_charge))
      expect(totals.exact).toMatchObject({ before_vat: before, after_vat: after })
      for (const name of ['before_vat', 'after_vat', 'vatable'] as const) {
        const whole = totals.exact[name]
        expect(sum(subs.map((each) => each.totals.exact[name]))).toBe(whole)
        expect(sum(parts(totals as never).map(({ exact }) => exact[name]))).toBe(whole)
        for (const { totals: own } of subs) {
          expect(sum(parts(own as never).map(({ exact }) => exact[name]))).toBe(own.exact[name])
        }
      }
      for (const { breakdown, totals: own } of subs) {
        const entries = Object.values(breakdown).flat()
        expect(sum(entries.map(({ exact }) => exact.cost))).toBe(own.exact.before_vat)
        expect(sum(entries.map(({ exact }) => exact.after_vat))).toBe(own.exact.after_vat)
      }
      const taxes = Object.values(totals.tax_data.taxes).map(({ exact }) => exact)
      expect(sum(taxes)).toBe(sum(lines.map(({ exact }) => exact.tax)))
      expect(sum([before, ...taxes])).toBe(after)
    }),
    propertyRuns(600),
  )
})

it.each([
  ['0', '0'],
  ['-0', '0'],
  ['1e-7', '0.0000001'],
  ['1e+21', '1000000000000000000000'],
  ['-12.3400', '-12.34'],
  ['-0.5', '-0.5'],
  [`0.${'0'.repeat(40)}5`, `0.${'0'.repeat(39)}1`],
  ['123456789012345.000000000000000000000001', '123456789012345.000000000000000000000001'],
])('the decimal %s is summed exactly', (text, expected) => {
  expect(decimalText(unitsOf(text))).toBe(expected)
  expect(numberOf(unitsOf(text) + unitsOf('1') - unitsOf('1'))).toBe(Number(expected))
})
