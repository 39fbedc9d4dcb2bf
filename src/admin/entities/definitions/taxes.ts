import {
  boolean,
  change,
  collection,
  create,
  lifecycle,
  list,
  number,
  optional,
  PERIOD,
  permanentChange,
  read,
  required,
  text,
  texts,
} from './params.ts'

const KEY = { key: text } as const

const FIELDS = {
  key: { type: 'string', mandatory: true, pattern: 'key' },
  description: { type: 'string', mandatory: true, pattern: 'path' },
  rate: required(number),
  embed_tax: boolean,
  /** Values that rules in `rating.taxMapping` compare. */
  params: list,
} as const

const LATER = optional(FIELDS)
const FOUND = { key: texts, description: texts } as const

/** Tax rates. A change contains only the changed fields. */
export const taxes = collection({
  name: 'taxes',
  store: 'taxes',
  keyField: 'key',
  configuredFieldsPath: ['taxes', 'fields'],
  actions: {
    get: read(FOUND),
    uniqueget: read(FOUND),
    create: create({ ...PERIOD, ...FIELDS }),
    update: change(KEY, LATER),
    closeandnew: change(KEY, { ...PERIOD, ...LATER }),
    permanentchange: permanentChange(KEY, optional(FIELDS, ['key'])),
    ...lifecycle(KEY),
  },
})
