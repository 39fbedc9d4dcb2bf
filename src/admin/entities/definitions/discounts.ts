import { CHARGE_FIELDS } from './charges.ts'
import {
  change,
  collection,
  create,
  exportRows,
  importRows,
  lifecycle,
  optional,
  PERIOD,
  permanentChange,
  read,
  text,
  texts,
} from './params.ts'

const KEY = { key: text } as const
const FIELDS = { ...CHARGE_FIELDS, prorated_start: text, prorated_end: text } as const
const LATER = optional(FIELDS)
const FOUND = { key: texts, description: texts } as const
const { close, move, delete: remove } = lifecycle(KEY)

/** Discounts. Import requires the role `write`. */
export const discounts = collection({
  name: 'discounts',
  about: 'Discounts on plans, services and fees',
  store: 'discounts',
  keyField: 'key',
  configuredFieldsPath: ['discounts', 'fields'],
  actions: {
    get: read(FOUND),
    uniqueget: read(FOUND),
    create: create({ ...PERIOD, ...FIELDS }),
    update: change(KEY, LATER),
    close,
    closeandnew: change(KEY, { ...PERIOD, ...LATER }),
    move,
    permanentchange: permanentChange(KEY, optional(FIELDS, ['key'])),
    delete: remove,
    import: importRows,
    export: exportRows(FOUND),
  },
})
