/** Documents of events, and the pure mapping from an event of a balance. */
import type { IndexDescription } from 'mongodb'
import type { BalanceEvent, EventRow } from '../../../domain/events/event.ts'
import { MONEY_EVENT_TYPES } from '../../../domain/events/money.ts'
import type { BalanceCondition } from '../../../domain/events/rule-documents.ts'

/**
 * `pending`: to be sent when it is `due`. `delivered`: the receiver has accepted it. `dead`: every
 * attempt failed. `unaddressed`: neither its rule nor the settings have a receiver.
 */
export const DELIVERY_STATES = ['pending', 'delivered', 'dead', 'unaddressed'] as const

export type DeliveryState = (typeof DELIVERY_STATES)[number]

export interface EventDelivery {
  state: DeliveryState
  /** When it is sent next, or a claimed event is free again; without meaning once not pending. */
  due: Date
  /** How often it was sent. */
  attempts: number
  /** Identifies the events that a process claimed together; absent if no process has it. */
  claim?: string
  /** Why the last attempt failed. */
  error?: string
}

export const EVENT_TYPES = ['balance', 'balancePrepaid', 'fraud', ...MONEY_EVENT_TYPES] as const

export type EventType = (typeof EVENT_TYPES)[number]

/** The fields of every notification, with times as dates, and those that only the node reads. */
export interface NotificationDocument {
  stamp: string
  event_type: EventType
  event_code: string
  event_description: string
  before?: BalanceEvent['before']
  after?: BalanceEvent['after']
  based_on?: BalanceEvent['based_on']
  creation_time: Date
  /** When the attempt began that is under way, or was the last one. */
  start_notify_time?: Date
  /** When the receiver accepted it, and its answer. */
  notify_time?: Date
  returned_value?: unknown
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
