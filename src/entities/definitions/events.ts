import { EVENT } from '../../catalog/records/events/event-document.ts'
import { byId, create, filtersOf, reads, recordCollection } from './params.ts'

const FOUND = filtersOf(EVENT)

/**
 * Tollgate extension: events of rules and of money (docs/EVENTS.md). Only the node writes them;
 * `resend` has them sent again.
 */
export const events = recordCollection({
  name: 'events',
  about: 'Events with their delivery',
  record: EVENT,
  keyField: 'stamp',
  textDates: ['start_notify_time', 'notify_time', 'delivery.due'],
  actions: {
    ...reads(FOUND),
    resend: create({}, { customFields: false, query: { ...byId, ...FOUND } }),
  },
})
