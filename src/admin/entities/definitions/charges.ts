import {
  change,
  collection,
  create,
  exportRows,
  integer,
  lifecycle,
  list,
  optional,
  PERIOD,
  read,
  text,
  texts,
} from './params.ts'

const KEY = { key: text } as const

/** Fields that charges and discounts share. */
export const CHARGE_FIELDS = {
  key: { type: 'string', mandatory: true, pattern: 'key' },
  description: text,
  limit: text,
  cycles: text,
  params: list,
  type: { type: 'string', options: ['monetary', 'percentage'] },
  subject: list,
  proration: { type: 'string', options: ['inherited', 'no'] },
  excludes: list,
  priority: text,
  simultaneous_limit: integer,
} as const

const LATER = optional(CHARGE_FIELDS)
const FOUND = { key: texts, description: texts } as const
const { close, move, delete: remove } = lifecycle(KEY)

/** Conditional charges. */
export const charges = collection({
  name: 'charges',
  about: 'Conditional charges',
  store: 'charges',
  keyField: 'key',
  configuredFieldsPath: ['charges', 'fields'],
  actions: {
    get: read(FOUND),
    uniqueget: read(FOUND),
    create: create({ ...PERIOD, ...CHARGE_FIELDS }),
    update: change(KEY, LATER),
    close,
    closeandnew: change(KEY, { ...PERIOD, ...LATER }),
    move,
    delete: remove,
    export: exportRows(FOUND),
  },
})
