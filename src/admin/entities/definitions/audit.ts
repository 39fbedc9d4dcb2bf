import { collection, dates, read, text, texts } from './params.ts'

/**
 * Audit entries (docs/AUDIT.md). Only the node writes them, and they cannot be changed or deleted.
 * The default order is newest first.
 */
export const audit = collection({
  name: 'audit',
  about: 'Audit entries',
  store: 'audit',
  keyField: 'stamp',
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
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
