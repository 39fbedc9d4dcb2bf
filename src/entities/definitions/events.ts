import { EVENT } from '../../catalog/records/events/event-document.ts'
import { byId, collection, create, dates, integers, read, recordDocs, texts } from './params.ts'

const FOUND = {
  stamp: texts,
  event_code: texts,
  event_type: texts,
  matched_path: texts,
  'extra_params.aid': integers,
  'extra_params.sid': integers,
  'delivery.state': texts,
  creation_time: dates,
} as const

/**
 * Tollgate extension: events of rules and of money (docs/EVENTS.md). Only the node writes them;
 * `resend` has them sent again.
 */
export const events = collection({
  name: 'events',
  about: 'Events with their delivery',
  store: 'events',
  keyField: 'stamp',
  docs: recordDocs(EVENT, FOUND),
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  textDates: ['start_notify_time', 'notify_time', 'delivery.due'],
  actions: {
    get: read(FOUND, { customFields: false }),
    uniqueget: read(FOUND, { customFields: false }),
    resend: create({}, { customFields: false, query: { ...byId, ...FOUND } }),
  },
})
