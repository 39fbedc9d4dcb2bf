import {
  boolean,
  change,
  collection,
  create,
  importRows,
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
  recurrence: required(list),
  upfront: required(boolean),
  connection_type: { type: 'string', mandatory: true, options: ['prepaid', 'postpaid'] },
  notifications_threshold: list,
  disallowed_rates: list,
  pp_threshold: list,
  include: list,
  rates: list,
  play: list,
  tax: list,
  rounding_rules: list,
  prorated_start: boolean,
  prorated_end: boolean,
  prorated_termination: boolean,
  charging_type: text,
  type: text,
  operation: text,
} as const

const LATER = optional(FIELDS)

const FOUND = {
  name: texts,
  description: texts,
  'include.groups': list,
  type: texts,
  connection_type: texts,
  charging_type: texts,
} as const

/** Plans. The prices of one rate can be changed as `rates.RATE` (`dottedParam`). */
export const plans = collection({
  name: 'plans',
  about: 'Recurring offers with included units and money',
  store: 'plans',
  keyField: 'name',
  configuredFieldsPath: ['plans', 'fields'],
  actions: {
    get: read({
      ...FOUND,
      prorated_start: boolean,
      prorated_end: boolean,
      prorated_termination: boolean,
    }),
    uniqueget: read(FOUND),
    create: create({ ...PERIOD, ...FIELDS }),
    update: change(KEY, LATER),
    closeandnew: change(KEY, { ...PERIOD, ...LATER }),
    permanentchange: permanentChange(
      KEY,
      optional(FIELDS, ['name', 'charging_type', 'type', 'operation']),
    ),
    import: importRows,
    ...lifecycle(KEY),
  },
})
