import { BILL, BILL_TYPES } from '../../catalog/records/money/bill.ts'
import {
  byId,
  changeById,
  datetime,
  filtersOf,
  integer,
  reads,
  recordCollection,
  remove,
} from './params.ts'

/** Invoices, payments and refunds. Only dates of a bill may be changed. */
export const bills = recordCollection({
  name: 'bills',
  about: 'Invoices, payments and refunds',
  record: BILL,
  keyField: '_id',
  actions: {
    ...reads({ ...filtersOf(BILL), type: { type: 'string', options: BILL_TYPES } }),
    update: changeById(
      { ...byId, aid: integer },
      { due_date: datetime, 'charge.not_before': datetime },
    ),
    delete: remove(),
  },
})
