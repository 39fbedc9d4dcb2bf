import {
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

const KEY = { name: text } as const

const FIELDS = {
  name: { type: 'string', mandatory: true, pattern: 'key' },
  description: required(text),
  include: required(list),
  operation: { type: 'string', mandatory: true, options: ['inc', 'set', 'new'] },
  charging_value: number,
} as const

const LATER = optional(FIELDS)
const FOUND = { name: texts, description: texts, include: list } as const

/** Prepaid groups: top-ups of several buckets together. */
export const prepaidGroups = collection({
  name: 'prepaidgroups',
  about: 'Top-ups of several buckets together',
  store: 'prepaidgroups',
  keyField: 'name',
  configuredFieldsPath: ['prepaidgroups', 'fields'],
  actions: {
    get: read(FOUND),
    uniqueget: read(FOUND),
    create: create({ ...PERIOD, ...FIELDS }),
    update: change(KEY, LATER),
    closeandnew: change(KEY, { ...PERIOD, ...LATER }),
    permanentchange: permanentChange(KEY, optional(FIELDS, ['name'])),
    ...lifecycle(KEY),
  },
})
