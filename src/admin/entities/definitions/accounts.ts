import {
  change,
  changeById,
  collection,
  create,
  dates,
  datetime,
  erasure,
  id,
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

const KEY = { aid: integer, type: { type: 'string', options: ['account'] } } as const
const HELD = { invoice_language: text, overrides: json, services: list } as const
const { reopen, delete: remove } = lifecycle(KEY)

/** Customer accounts. There is no action `move`. */
export const accounts = collection({
  name: 'accounts',
  about: 'Customer accounts',
  store: 'subscribers',
  fixed: { type: 'account' },
  keyField: 'aid',
  configuredFieldsPath: ['subscribers', 'account', 'fields'],
  actions: {
    get: read({
      aid: integers,
      sid: integers,
      type: KEY.type,
      invoice_language: text,
      creation_time: dates,
    }),
    uniqueget: read({
      aid: integers,
      sid: integers,
      type: KEY.type,
      firstname: texts,
      lastname: texts,
      company_name: texts,
      contact_name: texts,
      phone: texts,
      street: texts,
      invoice_language: text,
      creation_time: dates,
    }),
    create: create({
      ...PERIOD,
      aid: { type: 'generated' },
      account_import_id: text,
      ...HELD,
    }),
    update: change(KEY, { services: list, overrides: json }),
    close: changeById(
      { _id: required(id) },
      { to: datetime, invoice_language: text, overrides: json },
    ),
    closeandnew: change(KEY, { ...PERIOD, ...HELD }),
    reopen,
    delete: remove,
    permanentchange: permanentChange(KEY, HELD),
    import: importRows,
    erase: erasure({ aid: required(integer) }),
  },
})
