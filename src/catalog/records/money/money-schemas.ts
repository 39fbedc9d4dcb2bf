/** Schemas of bills, and of invoices (collection `billrun`), as they are stored. */
import {
  choice,
  closed,
  customFields,
  date,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  number,
  object,
  open,
  ref,
  text,
} from '../../entities/json-schema.ts'
import { INVOICE_SECTIONS } from './invoice-document.ts'

const BILL_TYPE = choice(['inv', 'rec', 'ref'], 'Invoice, payment or refund.')
const billNumber = (description: string) =>
  either(description, integer('Of an invoice.'), text('Of a payment.'))
/** Exact, and a text if a number cannot have all of its digits. */
const exactMoney = (description: string) => ref<number | string>('amount', description)

const BILL_LINK = open(
  object('A related bill.', {
    type: BILL_TYPE,
    id: billNumber('Its number.'),
    amount: number('Money.'),
    date: date('When it was linked.'),
    pending: flag('Whether the payment is not confirmed.'),
    posting: text('Id of the posting in the journal.'),
  }),
)

export const BILL = {
  aid: integer('Number of the account.'),
  type: BILL_TYPE,
  urt: date('Time of the bill.'),
  due: number('Amount that the customer owes; negative if it is owed to the customer.'),
  amount: number('Money, positive.'),
  due_date: date('Due date.'),
  invoice_id: integer('Number of the invoice.'),
  billrun_key: text('Billing cycle, such as `202601`.'),
  invoice_date: date('Date of the invoice.'),
  invoice_type: text('Kind of invoice.'),
  due_before_vat: exactMoney('The amount before tax.'),
  left_to_pay: number('Unpaid amount.'),
  vatable_left_to_pay: exactMoney('The part of it that is before tax.'),
  total_paid: number('Paid amount.'),
  paid: text('`0`: open; `1`: covered; `2`: a payment is not confirmed.'),
  paid_by: listOf(BILL_LINK, 'Bills that pay it.'),
  past_rejections: listOf(
    open(
      object('A rejection.', {
        txid: text('Number of the payment.'),
        date: date('Time of the rejection.'),
      }),
    ),
    'Rejected payments.',
  ),
  waiting_payments: listOf(billNumber('A payment.'), 'Unconfirmed payments.'),
  pending_covering_amount: number('Amount that they reserve.'),
  charge: object('Settings of the collection.', {
    not_before: date('Earliest date of collection.'),
  }),
  process_time: date('Time of booking.'),
  txid: text('Number of the payment, 13 digits.'),
  dir: choice(['fc', 'tc'], '`fc`: from the customer; `tc`: to the customer.'),
  method: text('Payment method.'),
  left: number('Unused amount of a payment.'),
  pays: listOf(BILL_LINK, 'Bills that it pays.'),
  pending: flag('Whether it is not confirmed.'),
  waiting_for_confirmation: flag('Whether it waits for its confirmation.'),
  confirmation_time: date('When it was confirmed.'),
  deposit: flag('Whether it is a deposit.'),
  deposit_amount: number('Money of the deposit.'),
  unfreeze_date: date('When the deposit was used.'),
  payer_name: text('Name of the payer.'),
  uf: customFields('Configured fields.'),
} as const

const AMOUNTS = {
  before_vat: number('Before tax.'),
  after_vat: number('After tax.'),
  vatable: number('Before tax, of the taxed lines.'),
  exact: object('The same as decimal texts.', {
    before_vat: text('Before tax.'),
    after_vat: text('After tax.'),
    vatable: text('Before tax, of the taxed lines.'),
  }),
} as const
const SECTION = object('Amounts of a section.', AMOUNTS)
const SECTIONS = {
  ...AMOUNTS,
  ...Object.fromEntries(INVOICE_SECTIONS.map((section) => [section, SECTION])),
}
const BREAKDOWN = listOf(
  object('All lines of one plan, service, rate or discount.', {
    name: text('Name.'),
    description: text('Text for the customer, if it differs from the name.'),
    count: integer('Number of lines.'),
    usagev: number('Units.'),
    cost: number('Before tax.'),
    after_vat: number('After tax.'),
    exact: object('The same as decimal texts.', {
      cost: text('Before tax.'),
      after_vat: text('After tax.'),
    }),
  }),
  'Sums of the section.',
)

/** A stored invoice, and one that is only computed, which has no number. */
export const INVOICE = {
  aid: integer('Number of the account.'),
  billrun_key: text('Key of the cycle, or of the invoice outside of cycles.'),
  invoice_id: integer('Number of the invoice.'),
  billed: integer('1: confirmed; 2: not for billing; absent before.'),
  invoice_date: date('Date of the invoice.'),
  start_date: date('Begin of the cycle.'),
  end_date: date('Its end.'),
  due_date: date('Due date.'),
  confirmation_time: date('When it was confirmed.'),
  invoice_file: text('Path of its PDF, if it was written by the call.'),
  charge: object('Settings of the collection.', {
    not_before: either('Earliest date.', ref('dateText'), ref('dateParts')),
  }),
  attributes: object('The customer.', {
    firstname: text('First name.'),
    lastname: text('Last name.'),
    fullname: text('Full name.'),
    address: text('Address.'),
    email: text('E-mail address.'),
    payment_details: text('Payment method.'),
    invoice_type: text('`regular`, or `immediate` outside of cycles.'),
  }),
  subs: listOf(
    open(
      object('A subscriber.', {
        aid: integer('Number of the account.'),
        sid: integer('Number of the subscriber; 0: the account itself.'),
        firstname: text('First name.'),
        lastname: text('Last name.'),
        plan: text('Name of the plan.'),
        breakdown: object(
          'Sums by section.',
          Object.fromEntries(INVOICE_SECTIONS.map((section) => [section, BREAKDOWN])),
        ),
        totals: object('Amounts.', SECTIONS),
        subscriber: customFields('The last revision in the cycle, as it was then.'),
      }),
    ),
    'Subscribers of the account.',
  ),
  totals: open(
    object('Amounts of the invoice.', {
      ...SECTIONS,
      after_vat_rounded: number('In the smallest unit of the currency.'),
      taxes: mapOf(number('Money.'), 'Taxes by description.'),
      tax_data: object('The taxes.', {
        total_amount: number('Their sum.'),
        total_tax: number('Sum of their rates.'),
        taxes: mapOf(
          object('A tax.', {
            key: text('Key of the tax.'),
            description: text('Its description.'),
            type: text('Kind of tax.'),
            tax: number('The rate as a fraction.'),
            amount: number('Money.'),
            exact: text('The same as decimal text.'),
          }),
          'Taxes by key.',
        ),
      }),
      past_balance: object('The balance before; absent if it is 0.', {
        after_vat: text('Money, with the decimals of the currency.'),
        without_waiting: object('Without unconfirmed payments.', { after_vat: text('Money.') }),
      }),
      current_balance: object('The balance with the invoice.', { after_vat: number('Money.') }),
    }),
  ),
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
