import * as schema from '../../catalog/entities/json-schema.ts'
import { DELIVERY_STATES, EVENT_TYPES } from '../../catalog/records/events/event-document.ts'
import { byId, collection, create, dates, integers, read, requestDocs, texts } from './params.ts'

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

/** Fields and parameters; record-schemas.ts has those that only responses have. */
const DOCS: Readonly<Record<string, schema.Schema>> = {
  stamp: schema.text('Unique id of the event.'),
  event_code: schema.text('Name of the rule.'),
  event_type: schema.choice(EVENT_TYPES, 'Kind of event.'),
  matched_path: schema.text('The path that met the rule.'),
  'extra_params.aid': schema.integer('Number of the account.'),
  'extra_params.sid': schema.integer('Number of the subscriber; 0 for the account.'),
  'delivery.state': schema.choice(DELIVERY_STATES, 'State of the delivery.'),
  creation_time: schema.date('Time of the event.'),
}

/**
 * Tollgate extension: events of rules and of money (docs/EVENTS.md). Only the node writes them;
 * `resend` has them sent again.
 */
export const events = collection({
  name: 'events',
  about: 'Events with their delivery',
  store: 'events',
  keyField: 'stamp',
  docs: requestDocs(DOCS),
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  textDates: ['start_notify_time', 'notify_time', 'delivery.due'],
  actions: {
    get: read(FOUND, { customFields: false }),
    uniqueget: read(FOUND, { customFields: false }),
    resend: create({}, { customFields: false, query: { ...byId, ...FOUND } }),
  },
})
