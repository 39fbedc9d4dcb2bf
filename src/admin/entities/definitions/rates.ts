import {
  boolean,
  change,
  collection,
  create,
  exportRows,
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

const KEY = { key: text } as const

const FIELDS = {
  key: { type: 'string', mandatory: true, pattern: 'key' },
  rates: required(list),
  description: text,
  params: list,
  pricing_method: { type: 'string', mandatory: true, options: ['tiered', 'volume'] },
  /** Mandatory as well; the configured default is `retail`. */
  tariff_category: text,
  add_to_retail: boolean,
  play: text,
  tax: list,
  invoice_label: text,
  rounding_rules: list,
} as const

const LATER = optional(FIELDS)
const FOUND = { key: texts, description: texts } as const

/** Rates: prices of usage. */
export const rates = collection({
  name: 'rates',
  about: 'Prices of usage',
  store: 'rates',
  keyField: 'key',
  configuredFieldsPath: ['rates', 'fields'],
  actions: {
    get: read({ ...FOUND, invoice_label: text }),
    uniqueget: read({ ...FOUND, tariff_category: texts, add_to_retail: boolean }),
    create: create({ ...PERIOD, ...FIELDS }),
    update: change(KEY, LATER),
    closeandnew: change(KEY, { ...PERIOD, ...LATER }),
    permanentchange: permanentChange(KEY, optional(FIELDS, ['key'])),
    import: importRows,
    export: exportRows(FOUND),
    ...lifecycle(KEY),
    move: change(KEY, { ...PERIOD, invoice_label: text }, { customFields: false }),
  },
})
