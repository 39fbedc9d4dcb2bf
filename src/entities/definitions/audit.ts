import * as schema from '../../catalog/entities/json-schema.ts'
import { AUDIT } from '../../catalog/records/audit-document.ts'
import type { SortOrder } from './definition.ts'
import { filtersOf, read, recordCollection, requestDocs, texts } from './params.ts'

/**
 * Audit entries (docs/AUDIT.md). Only the node writes them, and they cannot be changed or deleted.
 * The default order is newest first.
 */
export const audit = recordCollection({
  name: 'audit',
  about: 'Audit entries',
  record: AUDIT,
  keyField: 'stamp',
  docs: requestDocs({ 'user.name': schema.text('Name of the user or client.') }),
  textDates: ['urt'],
  indexOrder: newestFirst,
  // They would allow guessing erased values.
  hidden: ['chain.salt', 'chain.fields'],
  actions: {
    get: read(
      { ...filtersOf(AUDIT), 'user.name': texts },
      { customFields: false, roles: ['admin'] },
    ),
  },
})

function newestFirst(sort: SortOrder): SortOrder {
  const order = Object.keys(sort).length === 0 ? { urt: -1 as const } : sort
  const last = Object.values(order).at(-1) ?? -1
  return '_id' in order ? { ...order } : { ...order, _id: last }
}
