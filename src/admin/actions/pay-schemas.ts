/** Parameters of `pay` and members of its answers. */
import {
  amount,
  choice,
  closed,
  customFields,
  date,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  object,
  ref,
  text,
} from '../../catalog/entities/json-schema.ts'
import { DONE_OR_FAILED } from './action.ts'
import { JSON_TEXT, WHOLE_NUMBER } from './parameters.ts'

const LINKS = either(
  'Bills and how much of each; the oldest ones by default.',
  object('By kind of bill.', {
    inv: mapOf(amount('The amount.'), 'By number of the invoice.'),
    rec: mapOf(amount('The amount.'), 'By number of the payment.'),
  }),
  ref('links.list'),
)

const TEXT_OR_NUMBER = [text('A text.'), integer('A number.')] as const
const textual = (description: string) => either(description, ...TEXT_OR_NUMBER)
const TRUTH = [flag('True or false.'), integer('1: true.'), text('`1` or `true`.')] as const

const PAYMENT = object(
  'A payment.',
  {
    aid: either('The account.', ...WHOLE_NUMBER),
    amount: amount('Money, positive; 0 is possible for a deposit.'),
    dir: choice(['fc', 'tc'], '`fc` (default): from the customer; `tc`: to the customer.'),
    pays: LINKS,
    paid_by: LINKS,
    deposit: either('Whether it is a deposit.', ...TRUTH),
    source: text('`web` (default), `POS`, or a source of the settings.'),
    urt: date('Time of the payment; now by default.'),
    due_date: date('Due date.'),
    charge: object('Its collection.', { not_before: date('Earliest date.') }),
    uf: customFields('Configured fields.'),
    note: textual('A note.'),
    payer_name: textual('Name of the payer.'),
    aaddress: textual('Address of the payee.'),
    azip: textual('Its zip code.'),
    acity: textual('Its city.'),
    country: textual('Its country.'),
    IBAN: textual('Account of the bank.'),
    bank_name: textual('Name of the bank.'),
    BIC: textual('Code of the bank.'),
    RUM: textual('Reference of the mandate.'),
    deposit_slip: textual('Number of the deposit slip.'),
    deposit_slip_bank: textual('Bank of the deposit slip.'),
    cheque_no: textual('Number of the cheque.'),
    billrun_key: textual('Billing cycle of a direct debit.'),
    dd_stamp: textual('Stamp of a direct debit.'),
  },
  ['aid', 'amount'],
)

const CANCELLATION = object('A payment to cancel.', {
  txid: either('Its number.', ...WHOLE_NUMBER),
  amount: amount('Its amount, to be compared.'),
  uf: customFields('Configured fields.'),
})

const INSTALLMENT = object(
  'An installment.',
  {
    due_date: date('Due date.'),
    amount: amount('Money; equal parts by default.'),
    note: textual('A note.'),
    uf: customFields('Configured fields.'),
  },
  ['due_date'],
)

/** Forms of the parameters; each may also be a text in a form. */
export const PAY_FORMS = {
  payments: [listOf(PAYMENT, 'The payments.'), JSON_TEXT],
  txid: [listOf(either('A number.', ...WHOLE_NUMBER), 'The numbers.'), JSON_TEXT],
  cancellations: [listOf(CANCELLATION, 'The payments.'), JSON_TEXT],
  installments: [listOf(INSTALLMENT, 'The installments.'), JSON_TEXT],
  note: TEXT_OR_NUMBER,
  truth: TRUTH,
  date: [date('The date.')],
  amount: [amount('Money.')],
  uf: [customFields('By name.'), JSON_TEXT],
} as const

const RECORD_IDS = listOf(text('A number.'), 'Numbers of the new records.')
const NUMBERS = 'Numbers of the payments.'
const ERRORS = listOf(text('Why.'), 'Payments that cannot be cancelled.')

export const PAY_ANSWER = {
  status: DONE_OR_FAILED,
  details: either(
    'What was done.',
    closed('`pay`, `refund`.', {
      record_ids: RECORD_IDS,
      payments_received: integer('Number of payments in the call, without deposits.'),
      payments_saved: integer('The same number.'),
    }),
    closed('Only deposits.', {
      record_ids: RECORD_IDS,
      deposits_saved: integer('Number of deposits.'),
    }),
    closed('`use_deposit`.', {
      deposits_received: listOf(text('A number.'), 'Numbers of the request.'),
      deposits_unfreezed: listOf(text('A number.'), 'Numbers of those that are used now.'),
    }),
    closed('`cancel_payments`.', {
      succeeded_cancels: listOf(text('A number.'), NUMBERS),
      errors: ERRORS,
    }),
    closed('`cancel_payments` with `status` 0: nothing is cancelled.', { errors: ERRORS }),
    text('`split_bill`, `merge_installments`: the result.'),
  ),
} as const
