/** Invoices of accounts (collection `billrun`). Amounts are decimal; `exact` has them as text. */
import { BSON } from 'mongodb'
import {
  closed,
  customFields,
  date,
  either,
  flag,
  integer,
  listOf,
  loosePart,
  mapOf,
  number,
  object,
  open,
  ref,
  type Schema,
  type StoredOf,
  text,
  typed,
  type ValueOf,
} from '../../entities/json-schema.ts'

export const INVOICE_SECTIONS = [
  'flat',
  'service',
  'usage',
  'refund',
  'charge',
  'discount',
] as const
/** Conditional charges are in `charge`. */
export type InvoiceSection = (typeof INVOICE_SECTIONS)[number]

/** `vatable`: before tax, of the taxed lines. */
const AMOUNTS = {
  before_vat: number('Before tax.'),
  after_vat: number('After tax.'),
  vatable: number('Before tax, of the taxed lines.'),
  exact: loosePart('The same as decimal texts.', {
    before_vat: text('Before tax.'),
    after_vat: text('After tax.'),
    vatable: text('Before tax, of the taxed lines.'),
  }),
} as const
export type AmountsDocument = StoredOf<typeof AMOUNTS>

const bySection = <S extends Schema>(schema: S) =>
  Object.fromEntries(INVOICE_SECTIONS.map((section) => [section, schema])) as Record<
    InvoiceSection,
    S
  >

const SECTIONS = { ...AMOUNTS, ...bySection(loosePart('Amounts of a section.', AMOUNTS)) }
export type SectionTotals = StoredOf<typeof SECTIONS, InvoiceSection>

const BREAKDOWN = loosePart(
  'All lines of one plan, service, rate or discount.',
  {
    name: text('Name.'),
    description: text('Text for the customer, if it differs from the name.'),
    count: integer('Number of lines.'),
    usagev: number('Units.'),
    cost: number('Before tax.'),
    after_vat: number('After tax.'),
    exact: loosePart('The same as decimal texts.', {
      cost: text('Before tax.'),
      after_vat: text('After tax.'),
    }),
  },
  ['description'],
)
export type BreakdownDocument = ValueOf<typeof BREAKDOWN>

const INVOICE_TAX = loosePart('A tax.', {
  key: text('Key of the tax.'),
  description: text('Its description.'),
  type: text('Kind of tax.'),
  tax: number('The rate as a fraction.'),
  amount: number('Money.'),
  exact: text('The same as decimal text.'),
})
export type InvoiceTaxDocument = ValueOf<typeof INVOICE_TAX>

const TOTALS = {
  ...SECTIONS,
  after_vat_rounded: number('In the smallest unit of the currency.'),
  taxes: mapOf(number('Money.'), 'Taxes by description.'),
  tax_data: loosePart('The taxes.', {
    total_amount: number('Their sum.'),
    total_tax: number('Sum of their rates.'),
    taxes: mapOf(INVOICE_TAX, 'Taxes by key.'),
  }),
  past_balance: loosePart('The balance before; absent if it is 0.', {
    after_vat: text('Money, with the decimals of the currency.'),
    without_waiting: loosePart('Without unconfirmed payments.', { after_vat: text('Money.') }),
  }),
  current_balance: loosePart('The balance with the invoice.', { after_vat: number('Money.') }),
}

/** `after_vat_rounded` is rounded half away from zero. */
export interface InvoiceTotalsDocument
  extends StoredOf<typeof TOTALS, InvoiceSection | 'past_balance'> {
  grouping: unknown[]
}

const SUBSCRIBER = {
  aid: integer('Number of the account.'),
  sid: integer('Number of the subscriber; 0: the account itself.'),
  firstname: text('First name.'),
  lastname: text('Last name.'),
  plan: text('Name of the plan.'),
  breakdown: object('Sums by section.', bySection(listOf(BREAKDOWN, 'Sums of the section.'))),
  totals: loosePart('Amounts.', SECTIONS, INVOICE_SECTIONS),
  subscriber: customFields('The last revision in the cycle, as it was then.'),
} as const

export type InvoiceSubscriberDocument = StoredOf<
  typeof SUBSCRIBER,
  'firstname' | 'lastname' | 'plan' | 'subscriber'
>

/** A stored invoice, and one that is only computed, which has no number. */
export const INVOICE = {
  aid: integer('Number of the account.'),
  billrun_key: text('Key of the cycle, or of the invoice outside of cycles.'),
  invoice_id: integer('Number of the invoice.'),
  billed: integer('1: confirmed; 2: not for billing; absent before.'),
  invoice_date: date('Date of the invoice.'),
  start_date: date('Begin of the cycle.'),
  end_date: date('Its end.'),
  creation_time: date('When it was computed.'),
  due_date: date('Due date.'),
  confirmation_time: date('When it was confirmed.'),
  invoice_file: text('Path of its PDF, if it was written by the call.'),
  charge: object('Settings of the collection.', {
    not_before: either('Earliest date.', ref('dateText'), ref('dateParts')),
  }),
  attributes: loosePart('The customer.', {
    firstname: text('First name.'),
    lastname: text('Last name.'),
    fullname: text('Full name.'),
    address: text('Address.'),
    email: text('E-mail address.'),
    payment_details: text('Payment method.'),
    invoice_type: text('`regular`, or `immediate` outside of cycles.'),
  }),
  subs: typed<InvoiceSubscriberDocument[]>(
    listOf(open(object('A subscriber.', SUBSCRIBER)), 'Subscribers of the account.'),
  ),
  totals: typed<InvoiceTotalsDocument>(open(object('Amounts of the invoice.', TOTALS))),
  added_data: customFields('Data of plugins.'),
  account: customFields('The last revision of the account in the cycle, as it was then.'),
  seller: customFields('The seller, as in the settings.'),
  tax_rules: mapOf(
    closed('A tax of the lines.', {
      description: text('Its description.'),
      type: text('Kind of tax.'),
      tax: number('The rate as a fraction.'),
      embed_tax: flag('Whether it is part of the price.'),
    }),
    'Taxes by key.',
  ),
} as const

/** Set when it is stored or confirmed. */
type SetLater =
  | 'invoice_id'
  | 'billed'
  | 'due_date'
  | 'confirmation_time'
  | 'invoice_file'
  | 'charge'

/** An invoice as computed. `account` has no payment methods. */
export type InvoiceDocument = StoredOf<typeof INVOICE, SetLater | 'seller'>

/** For another thread: values of BSON, as customers have them, would lose their class. */
export function packedInvoice(invoice: InvoiceDocument): Uint8Array {
  const size = { minInternalBufferSize: BSON.calculateObjectSize(invoice) }
  return BSON.serialize(invoice, { ...size, ignoreUndefined: true })
}

export function unpackedInvoice(bytes: Uint8Array): InvoiceDocument {
  return BSON.deserialize(bytes) as InvoiceDocument
}
