import { describe, expect, it } from 'vitest'
import { EInvoiceError } from '../../../src/billing/documents/errors.ts'
import { jsonOf } from '../../../src/billing/documents/json.ts'
import { type InvoiceSource, NO_PARTY } from '../../../src/billing/documents/source.ts'
import { ublPieces } from '../../../src/billing/documents/ubl/invoice.ts'
import { countryCode } from '../../../src/billing/documents/ubl/parties.ts'
import { viewOf } from '../../../src/billing/documents/view.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import { example, schematron, whyNoRules } from '../../support/billing/en16931.ts'
import { dueOf, invoice, line, SELLER, settings, vat } from '../../support/billing/invoices.ts'
import { useMade } from '../../support/opened.ts'

const usage = line('2.345', {
  type: 'usage',
  name: 'CALL_DE',
  description: 'Calls <national> & "mobile"',
  usageType: 'call',
  quantity: new Exact(3725),
})
const discount = (amount: string) => {
  return line(amount, { type: 'discount', name: 'LOYAL', description: 'Loyalty' })
}
const several = [
  line('45.161290'),
  usage,
  line('9.99', { sid: 0, type: 'service', name: 'PAPER', description: '', taxes: [vat('0.07')] }),
  line('3.335', { sid: 8, taxes: [vat('0.07')] }),
]
const rounding = ['0.19', '0.07', '0.05'].map((rate) => line('0.005', { taxes: [vat(rate)] }))

const ublOf = (source: InvoiceSource) => [...ublPieces(source)].join('')

function due(lines: InvoiceSource['lines'], changes: Partial<InvoiceSource> = {}): InvoiceSource {
  return invoice(dueOf(lines), lines, changes)
}

const AE = settings({ untaxed: { category: 'AE' } })
const OUTSIDE = settings({ untaxed: { category: 'O' } })
const EXPORT = settings({ taxes: { EXPORT: { category: 'G' } } })
const company = { ...NO_PARTY, name: 'Kunde SA', country: 'France', vatId: 'FR12345678901' }

/** By name: an invoice of each kind. */
const VALID: Readonly<Record<string, InvoiceSource>> = {
  simple: due([line('100')]),
  'several rates': due(several),
  'a discount': due([line('100'), discount('-12.345')]),
  'a discount of everything': due([line('33.333'), discount('-33.333')]),
  'a conditional charge': due([line('1'), line('5.5', { type: 'conditional_charge' })]),
  'only a discount': due([discount('-10')]),
  'a rounding remainder': due(rounding),
  'a zero invoice': due([]),
  'a zero line': due([line('0', { quantity: new Exact(0) })]),
  'a refund line': due([line('100'), line('-40.1')]),
  'a negative invoice': due([line('-40.1')]),
  'zero rated': due([line('10', { taxes: [vat('0', 'ZERO')] }), line('1')]),
  exempt: due([line('10', { taxes: [] }), line('1')]),
  'reverse charge': due([line('10', { taxes: [] })], { settings: AE, buyer: company }),
  export: due([line('10', { taxes: [vat('0', 'EXPORT')] })], { settings: EXPORT }),
  'not subject to VAT': due([line('10', { taxes: [] })], { settings: OUTSIDE, buyer: company }),
  'a credit note': due([line('-68.907563025'), discount('3.1')], {
    kind: 'credit_note',
    adjusts: [{ invoiceId: 99, date: new Date('2024-04-01T00:00:00+02:00') }],
  }),
  'a credit note of several rates': due(
    several.map((each) => ({ ...each, amount: each.amount.negated() })),
    { kind: 'credit_note', adjusts: [{ invoiceId: 99 }, { invoiceId: 98 }] },
  ),
  'no period, terms, bank account': invoice('119', [line('100')], {
    settings: settings({ iban: undefined, bic: undefined, payment_terms: 'Within 30 days' }),
  }),
  yen: due([line('100.4'), line('100.4')], { settings: settings({}, 392) }),
  'odd texts': due([line('1', { description: '\u0000<&>"\u{1f600}\ud800', name: "]]>'" })]),
}

describe.skipIf(whyNoRules !== '')(`the official rules of EN 16931${whyNoRules}`, () => {
  const brokenRules = useMade(schematron)

  it.each(['ubl-tc434-example4.xml', 'ubl-tc434-creditnote1.xml'])(
    'accept the official example %s',
    (name) => {
      expect(brokenRules()(example(name))).toEqual([])
    },
  )

  it.each(Object.keys(VALID))('accept %s', (name) => {
    const source = VALID[name]
    expect(source && brokenRules()(ublOf(source))).toEqual([])
  })

  it.each([
    ['BR-CO-16', /<cbc:PayableAmount[^>]*>[\d.]+/, '<cbc:PayableAmount currencyID="EUR">1.00'],
    [
      'BR-CO-10',
      /<cbc:LineExtensionAmount[^>]*>[\d.]+/,
      '<cbc:LineExtensionAmount currencyID="EUR">1',
    ],
    ['BR-S-08', /<cbc:TaxableAmount[^>]*>[\d.]+/, '<cbc:TaxableAmount currencyID="EUR">1'],
    ['BR-06', /<cbc:RegistrationName>[^<]*/, '<cbc:RegistrationName>'],
    ['BR-CO-09', /<cbc:CompanyID>DE/, '<cbc:CompanyID>00'],
  ])('refuse a damaged one: %s', (rule, from, to) => {
    const xml = ublOf(due(several)).replace(from, to)
    expect(brokenRules()(xml).map((text) => text.split(':')[0])).toContain(rule)
  })
})

describe('the e-invoice', () => {
  it('has no other lines, prices and totals than the document view', () => {
    const xml = ublOf(due([line('100'), usage, discount('-12.345')]))
    const values = (name: string) =>
      [...xml.matchAll(new RegExp(`<cbc:${name}[^>]*>([^<]*)`, 'g'))].map(([, value]) => value)
    expect(values('LineExtensionAmount')).toEqual(['102.35', '100.00', '2.35'])
    expect(values('AllowanceTotalAmount')).toEqual(['12.35'])
    expect(values('TaxExclusiveAmount')).toEqual(['90.00'])
    expect(values('TaxInclusiveAmount')).toEqual(['107.10'])
    expect(values('PayableAmount')).toEqual(['107.10'])
    expect(values('InvoicedQuantity')).toEqual(['1', '3725'])
    expect(values('PriceAmount')).toEqual(['100.00', '2.35'])
    expect(xml).toContain('<cbc:BaseQuantity unitCode="SEC">3725<')
  })

  it('asks for no payment of a negative amount', () => {
    const xml = ublOf(VALID['a negative invoice'] as InvoiceSource)
    expect(xml).toContain('<cbc:InvoiceTypeCode>380<')
    expect(xml).not.toMatch(/DueDate|PaymentMeans|PayeeFinancialAccount/)
    expect(xml).toContain('Credited to the account')
  })

  it('is a credit note that names the invoice', () => {
    const xml = ublOf(VALID['a credit note'] as InvoiceSource)
    expect(xml).toContain('<CreditNote xmlns=')
    expect(xml).toContain('<cbc:CreditNoteTypeCode>381<')
    expect(xml).toMatch(/<cac:BillingReference>.*<cbc:ID>99<\/cbc:ID><cbc:IssueDate>2024-04-01</)
    expect(xml).not.toContain('DueDate')
    expect(xml).toMatch(/<cbc:PayableAmount currencyID="EUR">\d/)
  })

  it('has a rounding amount if one is left', () => {
    const xml = ublOf(due(rounding))
    expect(xml).toContain('<cbc:PayableRoundingAmount currencyID="EUR">-0.01<')
    expect(ublOf(due([line('100')]))).not.toContain('Rounding')
  })

  it('has the VAT number with the code of the country', () => {
    const greek = { ...SELLER, country: 'GR', vat_id: '123 456-789' }
    const xml = ublOf(due([line('1')], { settings: settings({ seller: greek }) }))
    expect(xml).toContain('<cbc:CompanyID>EL123456789<')
  })

  it('contains texts as texts', () => {
    const xml = ublOf(due([line('1', { name: '</cbc:ID><x/>', description: '<b>&amp;' })]))
    expect(xml).toContain('&lt;/cbc:ID&gt;&lt;x/&gt;')
    expect(xml).toContain('<cbc:Name>&lt;b&gt;&amp;amp;<')
  })
})

describe('an e-invoice is refused', () => {
  const missingOf = (source: InvoiceSource): readonly string[] => {
    try {
      ublOf(source)
      return []
    } catch (error) {
      return error instanceof EInvoiceError ? error.missing : [String(error)]
    }
  }

  it('with the list of all data that is missing', () => {
    const nothing = { settings: settings({ seller: {} }, 999), buyer: NO_PARTY }
    expect(missingOf(due([line('1')], nothing))).toEqual([
      'rating.currencyCode',
      'invoices.seller.name',
      'invoices.seller.country (ISO 3166)',
      'invoices.seller.vat_id',
      'account.company_name, or firstname and lastname',
      'account.country (ISO 3166)',
    ])
    expect(() => ublOf(due([line('1')], nothing))).toThrow(/needs data.*invoices\.seller\.name, /)
  })

  it('and its JSON says why, or that one can be made', () => {
    const reasonOf = (source: InvoiceSource) => jsonOf(viewOf(source)).e_invoice_refused
    expect(reasonOf(due([line('1')]))).toBeNull()
    expect(reasonOf(due([line('1')], { settings: settings({}, 999) }))).toBe(
      'EN 16931 needs data that is missing: rating.currencyCode',
    )
    expect(reasonOf(due([line('1', { taxes: [vat('0.1'), vat('0.02')] })]))).toMatch(/one VAT/)
  })

  it('for what single categories need', () => {
    const untaxed = [line('1', { taxes: [] })]
    expect(missingOf(due(untaxed, { settings: AE }))).toEqual(['account.vat_id'])
    const unset = settings({ untaxed: undefined })
    expect(missingOf(due(untaxed, { settings: unset }))).toEqual(['invoices.untaxed'])
    const noNumber = { ...OUTSIDE, seller: { ...OUTSIDE.seller, registrationId: '' } }
    expect(missingOf(due(untaxed, { settings: noNumber }))).toEqual([
      'invoices.seller.registration_id',
    ])
  })

  it.each([
    ['several taxes on a line', due([line('1', { taxes: [vat('0.1'), vat('0.02')] })]), /one VAT/],
    [
      'a tax that is no VAT',
      due([line('1', { taxes: [{ ...vat('0.1'), type: 'levy' }] })]),
      /one VAT per line, a line has VAT_1 0.1/,
    ],
    [
      'others beside lines that are not subject to VAT',
      due([line('1'), line('1', { taxes: [] })], { settings: OUTSIDE }),
      /no lines beside/,
    ],
    [
      'three decimals',
      invoice('1.234', [line('1.234', { taxes: [] })], { settings: settings({}, 414) }),
      /two decimals, 1.234 has more/,
    ],
  ])('for %s', (_, source, message) => {
    expect(() => ublOf(source)).toThrow(EInvoiceError)
    expect(() => ublOf(source)).toThrow(message)
  })
})

it.each([
  ['DE', 'DE'],
  ['de', 'DE'],
  ['Germany', 'DE'],
  ['Israel ', 'IL'],
  ['united kingdom', 'GB'],
  ['UK', ''],
  ['EU', ''],
  ['ZZ', ''],
  ['Atlantis', ''],
  ['', ''],
])('country %j is %j', (given, code) => {
  expect(countryCode(given)).toBe(code)
})
