import * as schema from '../../catalog/entities/json-schema.ts'
import type { SortOrder } from './definition.ts'
import { collection, dates, read, requestDocs, text, texts } from './params.ts'

/** Fields and parameters; record-schemas.ts has those that only responses have. */
const DOCS: Readonly<Record<string, schema.Schema>> = {
  'user.name': schema.text('Name of the user or client.'),
  key: schema.text('Key of the entity, user, category or client.'),
  urt: schema.date('Time of the action.'),
  collection: schema.text('Collection of the API, or `login`, `settings`, `oauth`.'),
  type: schema.text('Action.'),
  source: schema.text('Always `audit`.'),
}

/**
 * Audit entries (docs/AUDIT.md). Only the node writes them, and they cannot be changed or deleted.
 * The default order is newest first.
 */
export const audit = collection({
  name: 'audit',
  about: 'Audit entries',
  store: 'audit',
  keyField: 'stamp',
  docs: requestDocs(DOCS),
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  textDates: ['urt'],
  indexOrder: newestFirst,
  // They would allow guessing erased values.
  hidden: ['chain.salt', 'chain.fields'],
  actions: {
    get: read(
      {
        'user.name': texts,
        key: texts,
        urt: dates,
        collection: texts,
        type: texts,
        source: text,
      },
      { customFields: false, roles: ['admin'] },
    ),
  },
})

function newestFirst(sort: SortOrder): SortOrder {
  const order = Object.keys(sort).length === 0 ? { urt: -1 as const } : sort
  const last = Object.values(order).at(-1) ?? -1
  return '_id' in order ? { ...order } : { ...order, _id: last }
}
