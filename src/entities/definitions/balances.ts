import * as schema from '../../catalog/entities/json-schema.ts'
import { BALANCE } from '../../catalog/records/usage/balance-document.ts'
import {
  byId,
  changeById,
  create,
  filtersOf,
  integer,
  json,
  number,
  reads,
  recordCollection,
  requestDocs,
  text,
  texts,
} from './params.ts'

/** Selects what an update applies to: a balance, a prepaid include, a prepaid group or a card. */
const SELECTED = {
  ...byId,
  aid: integer,
  sid: integer,
  charging_plan: text,
  charging_plan_name: text,
  pp_includes_name: text,
  pp_includes_external_id: integer,
  secret: text,
  expiration_date: { type: 'datetime' },
} as const

const TOP_UP = {
  value: number,
  expiration_date: { type: 'datetime' },
  additional: json,
  operation: { type: 'string', options: ['inc', 'set', 'new'] },
} as const

/** Fields and parameters that balances of this system do not have. */
const DOCS: Readonly<Record<string, schema.Schema>> = {
  plan: schema.text('Plan of the balance, in data of the existing system.'),
  period: schema.text('Counting period.'),
  charging_plan: schema.text('Name or id of a prepaid group.'),
  charging_plan_name: schema.text('Name of a prepaid group.'),
  secret: schema.text('Secret of a prepaid card, 12 digits.'),
  expiration_date: schema.date('End of validity if it is new; otherwise it may be extended.'),
  value: schema.number('Units, or money with at most 6 decimals; credits are negative.'),
  operation: schema.choice(
    ['inc', 'set', 'new'],
    'Add to the balance (default), set the available amount, or create a new balance.',
  ),
  additional: schema.customFields('Stored in the line of the change.'),
}

/**
 * Balances of subscribers and accounts, one document each. An update has its own rules for
 * selecting a balance and may create one.
 */
export const balances = recordCollection({
  name: 'balances',
  about: 'Credit and counters of subscribers and accounts; credit is negative',
  record: BALANCE,
  keyField: '_id',
  docs: requestDocs(DOCS),
  /** The remaining state of the owner, needed to rebuild a lost ledger. */
  hidden: ['owner'],
  actions: {
    ...reads({ ...filtersOf(BALANCE), plan: texts, period: text }),
    update: { ...create(TOP_UP, { customFields: false }), query: SELECTED },
    delete: changeById({ ...byId, aid: integer, sid: integer }, {}),
  },
})
