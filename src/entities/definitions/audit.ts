import * as schema from '../../catalog/entities/json-schema.ts'
import { AUDIT } from '../../catalog/records/audit-document.ts'
import type { SortOrder } from './definition.ts'
import { collection, dates, read, recordDocs, requestDocs, text, texts } from './params.ts'

const NAMED = { 'user.name': schema.text('Name of the user or client.') }

const FOUND = {
  'user.name': texts,
  key: texts,
  urt: dates,
  collection: texts,
  type: texts,
  source: text,
} as const

/**
 * Audit entries (docs/AUDIT.md). Only the node writes them, and they cannot be changed or deleted.
 * The default order is newest first.
 */
export const audit = collection({
  name: 'audit',
  about: 'Audit entries',
  store: 'audit',
  keyField: 'stamp',
  docs: { ...recordDocs(AUDIT, FOUND), ...requestDocs(NAMED) },
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  textDates: ['urt'],
  indexOrder: newestFirst,
  // They would allow guessing erased values.
  hidden: ['chain.salt', 'chain.fields'],
  actions: {
    get: read(FOUND, { customFields: false, roles: ['admin'] }),
  },
})

function newestFirst(sort: SortOrder): SortOrder {
  const order = Object.keys(sort).length === 0 ? { urt: -1 as const } : sort
  const last = Object.values(order).at(-1) ?? -1
  return '_id' in order ? { ...order } : { ...order, _id: last }
}
