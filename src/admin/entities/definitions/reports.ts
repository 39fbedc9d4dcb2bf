import {
  change,
  collection,
  create,
  integer,
  list,
  optional,
  PERIOD,
  read,
  remove,
  required,
  text,
  texts,
} from './params.ts'

const KEY = { key: text } as const

const FIELDS = {
  key: required(text),
  user: text,
  ...PERIOD,
  entity: text,
  type: integer,
  conditions: list,
  columns: list,
  sorts: list,
  formats: list,
} as const

const WRITERS = { roles: ['write', 'reports'], customFields: false } as const

/** Saved reports. Confirmed cycles do not restrict their changes. */
export const reports = collection({
  name: 'reports',
  about: 'Saved reports',
  store: 'reports',
  keyField: 'key',
  hasMinimumDate: false,
  actions: {
    get: read({ key: texts, user: texts }, { roles: ['read', 'reports'], customFields: false }),
    create: create(FIELDS, WRITERS),
    update: change(KEY, optional(FIELDS, ['from', 'to']), WRITERS),
    delete: remove(WRITERS.roles),
  },
})
