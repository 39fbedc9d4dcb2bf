import { collection, dates, read, text, texts } from './params.ts'

/**
 * Tollgate extension: erasure and retention jobs with their progress. Only the node writes them.
 */
export const jobs = collection({
  name: 'jobs',
  about: '',
  store: 'jobs',
  keyField: 'subject',
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  textDates: ['created', 'changed', 'ended', 'due'],
  hidden: ['token', 'holder', 'expires', 'active', 'options', 'actor'],
  actions: {
    get: read(
      { kind: text, subject: texts, state: texts, created: dates },
      { customFields: false, roles: ['admin'] },
    ),
  },
})
