/** Documents of events, their schema, and the pure mapping from an event of a balance. */
import type { IndexDescription } from 'mongodb'
import type { BalanceEvent, EventRow } from '../../../domain/events/event.ts'
import { MONEY_EVENT_TYPES } from '../../../domain/events/money.ts'
import type { BalanceCondition } from '../../../domain/events/rule-documents.ts'
import {
  choice,
  customFields,
  date,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  nothing,
  number,
  object,
  open,
  type StoredOf,
  searchable,
  text,
} from '../../entities/json-schema.ts'

/**
 * `pending`: to be sent when it is `due`. `delivered`: the receiver has accepted it. `dead`: every
 * attempt failed. `unaddressed`: neither its rule nor the settings have a receiver.
 */
export const DELIVERY_STATES = ['pending', 'delivered', 'dead', 'unaddressed'] as const

export type DeliveryState = (typeof DELIVERY_STATES)[number]

const DELIVERY = {
  state: searchable(choice(DELIVERY_STATES, 'State.')),
  /** When it is sent next, or a claimed event is free again; without meaning once not pending. */
  due: date('When it is sent next, while it is pending.'),
  attempts: integer('How often it was sent.'),
  /** Identifies the events that a process claimed together. */
  claim: text('While a process sends it: its claim.'),
  error: text('Why the last attempt failed.'),
} as const

export type EventDelivery = StoredOf<typeof DELIVERY, 'claim' | 'error'>

export const EVENT_TYPES = ['balance', 'balancePrepaid', 'fraud', ...MONEY_EVENT_TYPES] as const

export type EventType = (typeof EVENT_TYPES)[number]

const scalar = (description: string) =>
  either(
    description,
    number('A number.'),
    text('A text.'),
    flag('True or false.'),
    nothing('None.'),
  )
const RELATED = listOf(mapOf(text('A text.'), 'Type and key.'), 'Entities of the path.')
const SCALARS = listOf(scalar('A value.'), 'Values.')

const CONDITION = open(
  object('A condition.', {
    type: text('Kind of condition.'),
    value: either('Value to compare with.', scalar('One.'), SCALARS),
    unit: text('Unit of the value.'),
    usaget: text('Usage type.'),
    property_type: text('Kind of amount.'),
    which: choice(['before', 'after'], 'The value that is compared.'),
    all_groups: flag('Whether all groups have to meet it.'),
    path: text('The path.'),
    paths: listOf(
      open(
        object('A path.', {
          path: text('The path.'),
          total_path: text('Path of the total.'),
          entity_type: text('Kind of entity.'),
          which: choice(['before', 'after'], 'The value that is compared.'),
          related_entities: RELATED,
        }),
      ),
      'Alternative paths.',
    ),
  }),
)

const THRESHOLD = open(
  object('A threshold.', {
    field: text('The field that is summed up.'),
    op: text('Comparison operator.'),
    value: either('Value to compare with.', scalar('One.'), SCALARS),
    unit: text('Unit of the value.'),
    usaget: either('Usage types.', text('One.'), listOf(text('A usage type.'), 'Several.')),
  }),
)

const NOTIFICATION = {
  stamp: searchable(text('Unique id of the event; the same in each of its notifications.')),
  event_type: searchable(choice(EVENT_TYPES, 'Kind of event.')),
  event_code: searchable(text('Name of the rule.')),
  event_description: text('Description of the rule.'),
  before: scalar('The value before the request.'),
  after: scalar('The value after it.'),
  based_on: choice(['monetary', 'usage'], 'What the value is.'),
  creation_time: searchable(date('Time of the event.')),
  start_notify_time: date('Begin of the last attempt to send it.'),
  notify_time: date('When the receiver accepted it.'),
  returned_value: text('The answer of the receiver.'),
} as const

/** Fields that the API returns. */
export const EVENT = {
  ...NOTIFICATION,
  matched_path: searchable(text('The path that met the rule.')),
  related_entities: RELATED,
  group_total: number('Total of the group.'),
  reached_constant: number('The constant that was reached.'),
  reached_constant_percentage: number('The same as a percentage.'),
  extra_params: object('Whose event it is.', {
    aid: searchable(integer('Number of the account.')),
    sid: searchable(integer('Number of the subscriber; 0 for the account.')),
    row: customFields('The usage, or the document of money.'),
  }),
  conditions: listOf(CONDITION, 'Conditions of the rule.'),
  action: object('The action of the rule on further usage.', {
    type: choice(['bar', 'redirect', 'throttle'], 'Its type.'),
    policy: text('Policy of a throttling.'),
    address: text('Address of a redirection.'),
    usaget: listOf(text('A usage type.'), 'Usage types; all if absent.'),
  }),
  thresholds: listOf(listOf(THRESHOLD, 'Thresholds of which all apply.'), 'Of a usage pattern.'),
  from: date('Begin of its window.'),
  to: date('End of its window.'),
  max_urt: date('The latest line that counts.'),
  rule_ref: text('Digest of the rule of a usage pattern.'),
  balance_ref: mapOf(integer('A number.'), 'The balance: `sid` and `bucket_id`.'),
  receiver: object('Where the rule sends it; absent keys: the settings.', {
    url: text('Address.'),
    method: choice(['get', 'post'], 'Method of HTTP.'),
    decoder: choice(['json', 'xml'], 'Format of its answer.'),
    notify_by_email: customFields('E-mail in addition.'),
  }),
  delivery: object('Its delivery.', DELIVERY),
} as const

type UnsetAtFirst = 'start_notify_time' | 'notify_time' | 'returned_value'
type OfValues = 'before' | 'after' | 'based_on'

/** The fields of every notification, with times as dates, and those that only the node reads. */
export interface NotificationDocument
  extends StoredOf<typeof NOTIFICATION, UnsetAtFirst | OfValues> {
  extra_params: { aid: number; sid: number; row: object }
  conditions: readonly object[]
  /** Not sent: where the rule wants the event to be sent. */
  receiver: BalanceEvent['receiver']
  delivery: EventDelivery
  /** Not sent: to whom it was sent by e-mail, and when no more e-mails with it are due. */
  emailed_to?: string[]
  email_time?: Date
}

/** An event of a balance. */
export interface EventDocument extends NotificationDocument {
  event_type: BalanceEvent['event_type']
  matched_path: string
  related_entities?: BalanceEvent['related_entities']
  before: BalanceEvent['before']
  after: BalanceEvent['after']
  based_on: BalanceEvent['based_on']
  group_total?: number
  reached_constant?: number
  reached_constant_percentage?: number
  extra_params: { aid: number; sid: number; row: EventRow }
  conditions: readonly BalanceCondition[]
  /** The action of the rule on further usage. */
  action?: BalanceEvent['action']
  /** Not sent: the balance. */
  balance_ref: BalanceEvent['balance']
}

export const EVENT_INDEXES: readonly IndexDescription[] = [
  { key: { stamp: 1 }, unique: true },
  { key: { 'extra_params.aid': 1, creation_time: 1 } },
  // Events of a usage pattern are found by the lines that they count.
  { key: { rule_ref: 1, max_urt: 1 }, partialFilterExpression: { event_type: 'fraud' } },
  { key: { 'extra_params.sid': 1, creation_time: 1 } },
  { key: { 'delivery.state': 1, creation_time: 1 } },
  { key: { creation_time: 1 } },
  // Pages of the events of a rule, newest first.
  { key: { event_code: 1, _id: 1 } },
  // By receiver, so that events of one do not stand before those of others. The state is part of
  // the key because it makes the index the best one for its queries.
  {
    key: { 'delivery.state': 1, 'receiver.url': 1, 'delivery.due': 1 },
    partialFilterExpression: { 'delivery.state': 'pending' },
  },
  {
    key: { email_time: 1, creation_time: 1 },
    partialFilterExpression: { 'receiver.notify_by_email.notify': true },
  },
]

export function eventDocument(event: BalanceEvent): EventDocument {
  const { aid, sid, row, balance, creation_ms: creationMs, receiver, conditions, ...named } = event
  const created = new Date(creationMs)
  return {
    ...named,
    creation_time: created,
    extra_params: { aid, sid, row },
    conditions,
    balance_ref: balance,
    receiver,
    delivery: { state: 'pending', due: created, attempts: 0 },
  }
}
