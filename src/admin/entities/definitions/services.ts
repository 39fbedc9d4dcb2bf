import {
  boolean,
  change,
  collection,
  create,
  importRows,
  json,
  lifecycle,
  list,
  optional,
  PERIOD,
  permanentChange,
  read,
  required,
  text,
  texts,
} from './params.ts'

const KEY = { name: text } as const

const FIELDS = {
  name: { type: 'string', mandatory: true, pattern: 'key' },
  price: required(list),
  description: text,
  include: list,
  prorated: required(boolean),
  quantitative: boolean,
  balance_period: text,
  vatable: boolean,
  rates: list,
  play: list,
  tax: list,
  recurrence: required(list),
  limit_cycles: json,
  rounding_rules: list,
} as const

const LATER = optional(FIELDS)
const FOUND = { name: texts, description: texts, 'include.groups': list } as const

/**
 * Services. A change without `recurrence` keeps the stored one. The prices of one rate can be
 * changed as `rates.RATE` (`dottedParam`).
 */
export const services = collection({
  name: 'services',
  about: 'Additional offers for subscribers and accounts',
  store: 'services',
  keyField: 'name',
  configuredFieldsPath: ['services', 'fields'],
  actions: {
    get: read(FOUND),
    uniqueget: read({ ...FOUND, quantitative: boolean, balance_period: texts }),
    create: create({ ...PERIOD, ...FIELDS }),
    update: change(KEY, LATER),
    closeandnew: change(KEY, { ...PERIOD, ...LATER }),
    permanentchange: permanentChange(KEY, optional(FIELDS, ['name'])),
    import: importRows,
    ...lifecycle(KEY),
  },
})
