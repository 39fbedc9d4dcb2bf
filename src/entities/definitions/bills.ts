import { BILL } from '../../catalog/records/money/money-schemas.ts'
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
  recordDocs,
  remove,
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

const CHANGED = { due_date: datetime, 'charge.not_before': datetime } as const

/** Invoices, payments and refunds. Only dates of a bill may be changed. */
export const bills = collection({
  name: 'bills',
  about: 'Invoices, payments and refunds',
  store: 'bills',
  keyField: '_id',
  docs: recordDocs(BILL, FOUND, CHANGED),
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  actions: {
    get: read(FOUND, { customFields: false }),
    uniqueget: read(FOUND, { customFields: false }),
    update: changeById({ ...byId, aid: integer }, CHANGED),
    delete: remove(),
  },
})
