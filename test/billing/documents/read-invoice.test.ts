import { Decimal128 } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { invoiceSource, SourceLines } from '../../../src/billing/documents/read-invoice.ts'
import { viewOf } from '../../../src/billing/documents/view.ts'
import { BillingError } from '../../../src/billing/errors.ts'
import type { BillrunDocument } from '../../../src/catalog/records/money/bill.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import type { Fields } from '../../../src/domain/fields.ts'
import { finalChargeOf } from '../../../src/rating/line-tax.ts'
import { SELLER } from '../../support/billing/invoices.ts'

const CONTEXT = { settings: {}, currencyCode: 978, timeZone: 'UTC' }
const VAT = { key: 'VAT', description: 'VAT', type: 'vat', rate: '0.17', isEmbedded: false }

function stored(amount: string, fields: Fields, rules = [VAT]): Fields {
  return { aid: 17, sid: 2, usagev: 1, ...finalChargeOf(new Exact(amount), rules, null), ...fields }
}

const LINES = [
  stored('3', { type: 'realtime', usaget: 'call', arate_key: 'CALL', usagev: 60 }),
  stored('-4.5', { type: 'credit', usaget: 'discount', key: 'LOYAL', description: 'Loyalty' }),
  stored('45.16', {
    type: 'flat',
    name: 'PLAN_X',
    start: new Date('2024-04-18T00:00:00Z'),
    end: new Date('2024-05-01T00:00:00Z'),
  }),
  stored('2', { sid: 0, type: 'service', name: 'PAPER' }, []),
  stored('1.5', { type: 'realtime', usaget: 'call', arate_key: 'CALL', usagev: 30 }),
  stored('7', { type: 'credit', usaget: 'refund', rate: 'GOODWILL', invoice_label: 'Sorry' }),
  stored('1', { type: 'service', name: 'TV' }, [{ ...VAT, isEmbedded: true }]),
]

function documentOf(lines: readonly Fields[], changes: Fields = {}): BillrunDocument {
  const sum = (name: string) =>
    lines.reduce(
      (total, { exact }) => total.plus((exact as Record<string, string>)[name] ?? ''),
      new Exact(0),
    )
  return {
    aid: 17,
    billrun_key: '202405',
    invoice_id: 101,
    invoice_date: new Date('2024-05-01T00:00:00Z'),
    start_date: new Date('2024-04-01T00:00:00Z'),
    end_date: new Date('2024-05-01T00:00:00Z'),
    due_date: new Date('2024-05-14T00:00:00Z'),
    attributes: { invoice_type: 'regular', firstname: 'Old' },
    account: { firstname: 'Dana', lastname: 'Levi', country: 'Israel', invoice_language: 'he_IL' },
    subs: [
      { sid: 0, breakdown: {} },
      { sid: 2, firstname: 'Noa', lastname: 'Levi', breakdown: {} },
    ],
    totals: {
      before_vat: sum('aprice').toNumber(),
      after_vat_rounded: sum('final_charge').toDecimalPlaces(2).toNumber(),
      exact: { before_vat: sum('aprice').toFixed() },
    },
    ...changes,
  }
}

function sourceOf(
  document: BillrunDocument,
  lines: readonly Fields[],
  context: Parameters<typeof invoiceSource>[2],
) {
  return invoiceSource(document, new SourceLines().add(lines), context)
}

describe('a stored invoice', () => {
  it('has its lines in order, with one for each rate', () => {
    const source = sourceOf(documentOf(LINES), LINES, CONTEXT)
    const lines = source.lines.map(({ sid, type, name, description, quantity, amount }) => {
      return [sid, type, name, description, quantity.toFixed(), amount.toFixed()]
    })
    expect(lines).toEqual([
      [0, 'service', 'PAPER', '', '1', '2'],
      [2, 'flat', 'PLAN_X', '', '1', '45.16'],
      [2, 'service', 'TV', '', '1', '1.17'],
      [2, 'usage', 'CALL', '', '90', '4.5'],
      [2, 'credit', 'GOODWILL', 'Sorry', '1', '7'],
      [2, 'discount', 'LOYAL', 'Loyalty', '1', '-4.5'],
    ])
    expect(source.lines.map(({ taxes }) => taxes.length)).toEqual([0, 1, 0, 1, 1, 1])
    expect(source.lines[1]?.period?.start).toEqual(new Date('2024-04-18T00:00:00Z'))
    expect(viewOf(source).totals.payable.toFixed()).toBe(source.due.toFixed())
    const reversed = sourceOf(documentOf(LINES), [...LINES].reverse(), CONTEXT)
    expect(reversed).toEqual(source)
  })

  it('has one more line for usage whose records had prices', () => {
    const usage = LINES.filter(({ type }) => type === 'realtime')
    const priced = usage.map((line) => ({ ...line, prepriced: true }))
    const lines = [...usage, ...priced, ...priced]
    const source = sourceOf(documentOf(lines), lines, CONTEXT)
    const shown = source.lines.map(({ isPrepriced, quantity, amount }) => {
      return [isPrepriced, quantity.toFixed(), amount.toFixed()]
    })
    expect(shown).toEqual([
      [undefined, '90', '4.5'],
      [true, '180', '9'],
    ])
  })

  it('has account, seller and language as the invoice keeps them', () => {
    const settings = { seller: { name: 'New' }, language: 'de' }
    const document = documentOf(LINES, { seller: SELLER, billed: 1 })
    const source = sourceOf(document, LINES, { ...CONTEXT, settings })
    expect(source).toMatchObject({
      kind: 'invoice',
      language: 'he_IL',
      buyer: { name: 'Dana Levi', country: 'Israel' },
      settings: { language: 'de', seller: { name: SELLER.name, vatId: SELLER.vat_id } },
    })
    expect(source.subscribers.get(2)).toBe('Noa Levi')
  })

  it('is a credit note if it adjusts invoices and its total is negative', () => {
    const lines = [stored('-10', { type: 'credit', usaget: 'refund', rate: 'BACK' })]
    const adjusts = [{ invoice_id: 99, amount: Decimal128.fromString('11.7') }]
    const note = documentOf(lines, { adjusts, attributes: { invoice_type: 'immediate' } })
    const source = sourceOf(note, lines, CONTEXT)
    expect(source).toMatchObject({ kind: 'credit_note', adjusts: [{ invoiceId: 99 }] })
    expect(source.period).toBeUndefined()
    expect(sourceOf(documentOf(lines), lines, CONTEXT).kind).toBe('invoice')
  })

  it('with other lines than those of its total is refused', () => {
    const without = () => sourceOf(documentOf(LINES), LINES.slice(1), CONTEXT)
    expect(without).toThrow('invoice 101: its lines differ from its total by -3')
  })

  it('without a number is refused', () => {
    const { invoice_id: _, ...document } = documentOf(LINES)
    const read = () => sourceOf(document as BillrunDocument, LINES, CONTEXT)
    expect(read).toThrow('the invoice of account 17 for 202405 has no number')
  })

  it.each([Number.NaN, 'many', {}])('with an amount that is no number is refused: %j', (bad) => {
    const lines = [{ ...LINES[0], exact: { aprice: bad } }]
    const read = () => sourceOf(documentOf(LINES), lines, CONTEXT)
    expect(read).toThrow(BillingError)
  })

  it('of another system may have no exact amounts', () => {
    const lines = [
      { type: 'flat', sid: 1, name: 'A', aprice: 0.1, tax_data: { taxes: [] } },
      { type: 'flat', sid: 1, name: 'B', aprice: 0.2, tax_data: {} },
    ]
    const totals = { before_vat: 0.30000000000000004, after_vat_rounded: 0.3 }
    const source = sourceOf(documentOf([], { totals }), lines, CONTEXT)
    expect(viewOf(source).totals).toMatchObject({ payable: new Exact('0.3') })
  })
})
