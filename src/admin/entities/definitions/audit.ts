import { collection, dates, read, text, texts } from './params.ts'

/**
 * Who did what (spec/entity-api.md 6; docs/AUDIT.md). It is written by the node alone, and nothing
 * of it can be changed or deleted. Without `sort` the newest come first.
 */
export const audit = collection({
  name: 'audit',
  store: 'audit',
  keyField: 'stamp',
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  // With them erased values could be guessed.
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
