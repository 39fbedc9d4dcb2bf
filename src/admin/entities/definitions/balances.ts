import {
  byId,
  changeById,
  collection,
  create,
  dates,
  integer,
  integers,
  json,
  number,
  read,
  text,
  texts,
} from './params.ts'

const FOUND = {
  aid: integers,
  sid: integers,
  pp_includes_name: texts,
  pp_includes_external_id: integers,
  plan: texts,
  connection_type: texts,
  from: dates,
  to: dates,
  period: text,
  service_name: text,
  priority: integer,
} as const

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

/**
 * Balances of subscribers and accounts, one document each. An update has its own rules for
 * selecting a balance and may create one.
 */
export const balances = collection({
  name: 'balances',
  about: 'Credit and counters of subscribers and accounts; credit is negative',
  store: 'balances',
  keyField: '_id',
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  /** The remaining state of the owner, needed to rebuild a lost ledger. */
  hidden: ['owner'],
  actions: {
    get: read(FOUND, { customFields: false }),
    uniqueget: read(FOUND, { customFields: false }),
    update: { ...create(TOP_UP, { customFields: false }), query: SELECTED },
    delete: changeById({ ...byId, aid: integer, sid: integer }, {}),
  },
})
