/** Documents written by billing: invoices, payments, refunds, and the invoices of cycles. */
import type { IndexDescription } from 'mongodb'
import {
  choice,
  customFields,
  date,
  either,
  flag,
  integer,
  listOf,
  loosePart,
  number,
  object,
  open,
  ref,
  type StoredOf,
  searchable,
  text,
  typed,
  type ValueOf,
} from '../../entities/json-schema.ts'
import type { StoredAmount } from './exact-amount.ts'
import type { InvoiceDocument } from './invoice-document.ts'

export const BILL_TYPES = ['inv', 'rec', 'ref'] as const
const BILL_TYPE = choice(BILL_TYPES, 'Invoice, payment or refund.')
const billNumber = (description: string) =>
  either(description, integer('Of an invoice.'), text('Of a payment.'))
const money = (description: string) => typed<StoredAmount>(number(description))
/** In answers a text if a number cannot have all of its digits. */
const exactMoney = (description: string) => ref<StoredAmount>('amount', description)

const BILL_LINK = {
  type: BILL_TYPE,
  id: billNumber('Its number.'),
  amount: money('Money.'),
  date: date('When it was linked.'),
  pending: flag('Whether the payment is not confirmed: the amount is reserved.'),
  posting: text('Id of the posting in the journal.'),
} as const

/** Reference to another bill that this one pays, or that pays it. */
export type BillLink = StoredOf<typeof BILL_LINK, 'date' | 'pending' | 'posting'>

const links = (description: string) =>
  typed<BillLink[]>(listOf(open(object('A related bill.', BILL_LINK)), description))

export const BILL = {
  aid: searchable(integer('Number of the account.')),
  type: BILL_TYPE,
  urt: searchable(date('Time of the bill.')),
  due: money('Amount that the customer owes; negative if it is owed to the customer.'),
  amount: money('Money, positive.'),
  due_date: searchable(date('Due date.')),
  invoice_id: searchable(integer('Number of the invoice.')),
  billrun_key: searchable(text('Billing cycle, such as `202601`.')),
  invoice_date: searchable(date('Date of the invoice.')),
  invoice_type: text('Kind of invoice.'),
  due_before_vat: exactMoney('The amount before tax.'),
  left_to_pay: money('Unpaid amount.'),
  vatable_left_to_pay: exactMoney('The part of it that is before tax.'),
  total_paid: money('Paid amount.'),
  paid: choice(['0', '1', '2'], '`0`: open; `1`: covered; `2`: a payment is not confirmed.'),
  paid_by: searchable(links('Bills that pay it.')),
  past_rejections: searchable(
    listOf(
      open(
        object('A rejection.', {
          txid: text('Number of the payment.'),
          date: date('Time of the rejection.'),
        }),
      ),
      'Rejected payments.',
    ),
  ),
  waiting_payments: listOf(billNumber('A payment.'), 'Unconfirmed payments.'),
  pending_covering_amount: money('Amount that they reserve.'),
  charge: loosePart('Settings of the collection.', {
    not_before: date('Earliest date of collection.'),
  }),
  process_time: date('Time of booking.'),
  txid: searchable(text('Number of the payment, 13 digits.')),
  dir: choice(['fc', 'tc'], '`fc`: from the customer; `tc`: to the customer.'),
  method: text('Payment method.'),
  left: money('Unused amount of a payment.'),
  pays: links('Bills that it pays.'),
  pending: flag('Whether it is not confirmed.'),
  waiting_for_confirmation: flag('Whether it waits for its confirmation.'),
  confirmation_time: date('When it was confirmed.'),
  cancel: text('The payment that it cancels.'),
  cancelled: flag('Whether it was cancelled.'),
  rejection: flag('Whether it is the counter record of a rejected payment.'),
  rejected: flag('Whether it was rejected.'),
  is_denial: flag('Whether it is the counter record of a denied payment.'),
  denied_by: text('The record that denies it.'),
  original_txid: text('Of a counter record: number of the original payment.'),
  deposit: searchable(flag('Whether it is a deposit; an unused one has the amount 0.')),
  deposit_amount: money('Money of the deposit.'),
  unfreeze_date: date('When the deposit was used.'),
  payer_name: searchable(text('Name of the payer.')),
  uf: customFields('Configured fields.'),
} as const

export type PaidState = ValueOf<(typeof BILL)['paid']>

type Always = 'aid' | 'type' | 'urt' | 'due' | 'amount'

/**
 * Amounts are exact decimals; positive amounts are owed by the customer. Counter records and their
 * originals are payments that were cancelled, rejected or denied.
 */
export interface BillDocument extends StoredOf<typeof BILL, Exclude<keyof typeof BILL, Always>> {
  [field: string]: unknown
}

export const BILL_INDEXES: readonly IndexDescription[] = [
  { key: { aid: 1, urt: 1 } },
  // The bills of an account that are not covered.
  { key: { aid: 1, paid: 1, urt: 1 } },
  { key: { paid: 1, due_date: 1 } },
  { key: { invoice_id: 1 } },
  { key: { txid: 1 } },
  { key: { billrun_key: 1 } },
  { key: { 'payment_agreement.id': 1 } },
]

/** The invoice of an account for a cycle. */
export interface BillrunDocument
  extends Pick<InvoiceDocument, 'aid' | 'billrun_key' | 'invoice_id' | 'billed'> {
  [field: string]: unknown
}

/** The last two indexes serve the queries for the last confirmed cycle, and for the last one. */
export const BILLRUN_INDEXES: readonly IndexDescription[] = [
  { key: { aid: 1, billrun_key: 1 }, unique: true },
  { key: { invoice_id: 1 } },
  { key: { billed: 1, billrun_key: 1 } },
  { key: { billrun_key: 1 } },
]
