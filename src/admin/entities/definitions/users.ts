import {
  boolean,
  change,
  collection,
  create,
  optional,
  read,
  remove,
  required,
  text,
  texts,
} from './params.ts'

const KEY = { username: text } as const

const FIELDS = {
  username: { type: 'email', mandatory: true },
  /** Stored as a hash. */
  password: required(text),
  roles: { type: 'array', of: 'string', mandatory: true },
  must_change_password: boolean,
} as const

const ADMINS = { roles: ['admin'], customFields: false } as const

/** Operators. Responses never contain password data. */
export const users = collection({
  name: 'users',
  about: 'Operators',
  store: 'users',
  keyField: 'username',
  hasMinimumDate: false,
  hidden: ['password', 'password_generated'],
  actions: {
    get: read({ username: texts }, { customFields: false }),
    create: create(FIELDS, ADMINS),
    // The name of the first user is not an e-mail address, so a change must accept the stored name.
    update: change(KEY, { ...optional(FIELDS), username: text }, ADMINS),
    delete: remove(ADMINS.roles),
  },
})
