import * as schema from '../../catalog/entities/json-schema.ts'
import { collection, dates, integers, read, remove, requestDocs, texts } from './params.ts'

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

/** Fields and parameters; record-schemas.ts has those that only responses have. */
const DOCS: Readonly<Record<string, schema.Schema>> = {
  aid: schema.integer('Number of the account.'),
  sid: schema.integer('Number of the subscriber.'),
  type: schema.text('`realtime`, `balance` or `credit`.'),
  plan: schema.text('Plan of the subscriber at that time.'),
  stamp: schema.text('Unique id of the line.'),
  usaget: schema.text('Usage type.'),
  billrun: schema.text('Billing cycle, such as `202601`.'),
  arate_key: schema.text('Key of the rate.'),
  session_id: schema.text('Session of the network element.'),
  usagev: schema.number('Units.'),
  aprice: schema.number('Price before tax.'),
  final_charge: schema.number('Price with tax.'),
  included_in_plan: schema.number('Units that the plan included, in lines of the existing system.'),
  from: schema.date('Start of the recorded period.'),
  to: schema.date('End of the recorded period.'),
  urt: schema.date('Time of the event.'),
}

/**
 * Records of usage, credits and balance changes. Only credits that are not invoiced yet can be
 * deleted.
 */
export const lines = collection({
  name: 'lines',
  about: 'Records of usage, credits and balance changes',
  store: 'lines',
  keyField: 'stamp',
  docs: requestDocs(DOCS),
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  actions: {
    get: read(FOUND, { customFields: false }),
    uniqueget: read(FOUND, { customFields: false }),
    delete: remove(),
  },
})
