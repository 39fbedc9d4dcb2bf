import { LINE } from '../../catalog/records/record-schemas.ts'
import { collection, dates, integers, read, recordDocs, remove, texts } from './params.ts'

const FOUND = {
  aid: integers,
  sid: integers,
  type: texts,
  plan: texts,
  stamp: texts,
  usaget: texts,
  billrun: texts,
  arate_key: texts,
  session_id: texts,
  usagev: { type: 'array' },
  aprice: { type: 'array' },
  final_charge: { type: 'array' },
  included_in_plan: { type: 'array' },
  from: dates,
  to: dates,
  urt: dates,
} as const

/**
 * Records of usage, credits and balance changes. Only credits that are not invoiced yet can be
 * deleted.
 */
export const lines = collection({
  name: 'lines',
  about: 'Records of usage, credits and balance changes',
  store: 'lines',
  keyField: 'stamp',
  docs: recordDocs(LINE, FOUND),
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  actions: {
    get: read(FOUND, { customFields: false }),
    uniqueget: read(FOUND, { customFields: false }),
    delete: remove(),
  },
})
