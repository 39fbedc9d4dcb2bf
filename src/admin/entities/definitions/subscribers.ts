import {
  change,
  collection,
  create,
  dates,
  erasure,
  importRows,
  integer,
  integers,
  json,
  lifecycle,
  list,
  PERIOD,
  permanentChange,
  read,
  required,
  text,
  texts,
} from './params.ts'

const KEY = { sid: integer, type: { type: 'string', options: ['subscriber'] } } as const

/** Tollgate extension: changing `aid` moves the subscriber to that account. */
const HELD = {
  aid: integer,
  plan: text,
  services: list,
  play: text,
  discounts: list,
  overrides: json,
} as const

const SERVICES = { 'services.name': texts, 'services.from': dates, 'services.to': dates } as const

/**
 * Subscribers of accounts. Their identifiers and credit settings (msisdn, imsi, barred,
 * credit_limit, time_zone) are configured fields (fields/defaults.ts).
 */
export const subscribers = collection({
  name: 'subscribers',
  about: 'Subscribers of accounts',
  store: 'subscribers',
  fixed: { type: 'subscriber' },
  keyField: 'sid',
  configuredFieldsPath: ['subscribers', 'subscriber', 'fields'],
  actions: {
    get: read({
      aid: integers,
      sid: integers,
      type: KEY.type,
      ...SERVICES,
      creation_time: dates,
    }),
    uniqueget: read({
      aid: integers,
      sid: integers,
      type: KEY.type,
      firstname: texts,
      lastname: texts,
      ...SERVICES,
      creation_time: dates,
    }),
    create: create({
      ...PERIOD,
      ...HELD,
      aid: required(integer),
      sid: { type: 'generated' },
      plan: required(text),
    }),
    update: change(KEY, HELD),
    closeandnew: change(KEY, { ...PERIOD, ...HELD }),
    permanentchange: permanentChange(KEY, HELD),
    import: importRows,
    erase: erasure({ sid: required(integer) }),
    ...lifecycle(KEY),
  },
})
