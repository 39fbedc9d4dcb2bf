import * as schema from '../../catalog/entities/json-schema.ts'
import {
  boolean,
  byId,
  changeById,
  collection,
  dates,
  datetime,
  integer,
  integers,
  read,
  remove,
  requestDocs,
  texts,
} from './params.ts'

const FOUND = {
  invoice_id: integers,
  aid: integers,
  paid_by: { type: 'array' },
  payer_name: texts,
  past_rejections: { type: 'array' },
  billrun_key: texts,
  txid: texts,
  type: { type: 'string', options: ['inv', 'rec', 'ref'] },
  urt: dates,
  invoice_date: dates,
  due_date: dates,
  deposit: boolean,
} as const

/** Fields and parameters; record-schemas.ts has those that only responses have. */
const BILL_LINK: schema.Schema = schema.object('A related bill.', {
  type: schema.choice(['inv', 'rec', 'ref'], 'Kind of bill.'),
  id: { description: 'Its number.', type: ['integer', 'string'] },
  amount: schema.number('Money.'),
})

const DOCS: Readonly<Record<string, schema.Schema>> = {
  invoice_id: schema.integer('Number of the invoice.'),
  aid: schema.integer('Number of the account.'),
  paid_by: schema.listOf(BILL_LINK, 'Bills that pay it.'),
  payer_name: schema.text('Name of the payer.'),
  past_rejections: schema.listOf(
    schema.mapOf(schema.anyValue('A value.'), 'A rejection.'),
    'Rejected payments.',
  ),
  billrun_key: schema.text('Billing cycle, such as `202601`.'),
  txid: schema.text('Number of the payment, 13 digits.'),
  type: schema.choice(['inv', 'rec', 'ref'], 'Invoice, payment or refund.'),
  urt: schema.date('Time of the bill.'),
  invoice_date: schema.date('Date of the invoice.'),
  due_date: schema.date('Due date.'),
  deposit: schema.flag('Whether it is a deposit.'),
  'charge.not_before': schema.date('Earliest date of collection.'),
}

/** Invoices, payments and refunds. Only dates of a bill may be changed. */
export const bills = collection({
  name: 'bills',
  about: 'Invoices, payments and refunds',
  store: 'bills',
  keyField: '_id',
  docs: requestDocs(DOCS),
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  actions: {
    get: read(FOUND, { customFields: false }),
    uniqueget: read(FOUND, { customFields: false }),
    update: changeById(
      { ...byId, aid: integer },
      { due_date: datetime, 'charge.not_before': datetime },
    ),
    delete: remove(),
  },
})
