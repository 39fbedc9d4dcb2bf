/** The document of an event that the recorder stores, and the pure mapping from the event. */
import type { IndexDescription } from 'mongodb'
import type { BalanceEvent, EventRow } from '../../domain/events/event.ts'
import type { BalanceCondition } from '../../domain/events/rule-documents.ts'

/**
 * Its delivery: `pending` until a receiver has accepted it. `due`: when it is to be sent next.
 * `attempts`: how often it was sent.
 */
export interface EventDelivery {
  state: 'pending'
  due: Date
  attempts: number
}

/** The fields of a notification, with times as dates, and those that only the node reads. */
export interface EventDocument {
  stamp: string
  event_type: BalanceEvent['event_type']
  event_code: string
  event_description: string
  matched_path: string
  related_entities?: BalanceEvent['related_entities']
  before: BalanceEvent['before']
  after: BalanceEvent['after']
  based_on: BalanceEvent['based_on']
  group_total?: number
  reached_constant?: number
  reached_constant_percentage?: number
  creation_time: Date
  extra_params: { aid: number; sid: number; row: EventRow }
  conditions: readonly BalanceCondition[]
  /** Not sent: the balance, and where the rule wants the event to be sent. */
  balance_ref: BalanceEvent['balance']
  receiver: BalanceEvent['receiver']
  delivery: EventDelivery
}

export const EVENT_INDEXES: readonly IndexDescription[] = [
  { key: { stamp: 1 }, unique: true },
  { key: { 'extra_params.aid': 1, creation_time: 1 } },
  // Few are pending.
  {
    key: { 'delivery.due': 1 },
    partialFilterExpression: { 'delivery.state': 'pending' },
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
