/** Documents of events of money and of usage patterns. */
import { createHash } from 'node:crypto'
import type { ThresholdDocument } from '../../../domain/events/fraud.ts'
import type { EventRule } from '../../../domain/events/rule-documents.ts'
import type { NotificationDocument } from './event-document.ts'

/** An event of a usage pattern. */
export interface FraudEventDocument extends NotificationDocument {
  event_type: 'fraud'
  thresholds: readonly (readonly ThresholdDocument[])[]
  /** The window, and the latest line that counts. */
  from: Date
  to: Date
  max_urt: Date
  /** Not sent: digest of the rule. */
  rule_ref: string
}

/** An event that a rule asks for. */
export interface RuleEvent {
  readonly type: NotificationDocument['event_type']
  /** With type and code of the rule identifies the event. */
  readonly identity: readonly (string | number)[]
  readonly aid: number
  readonly sid: number
  readonly row: object
  readonly basedOn: 'monetary' | 'usage'
  readonly before?: number
  readonly after?: number
}

/** An event that is to be sent now. */
export function ruleEventDocument(
  { code, description, receiver }: EventRule,
  { type, identity, aid, sid, row, basedOn, before, after }: RuleEvent,
  nowMs: number,
): NotificationDocument {
  const created = new Date(nowMs)
  return {
    stamp: digestOf([type, code, ...identity]),
    event_type: type,
    event_code: code,
    event_description: description,
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
    based_on: basedOn,
    creation_time: created,
    extra_params: { aid, sid, row },
    conditions: [],
    receiver,
    delivery: { state: 'pending', due: created, attempts: 0 },
  }
}

/** 32 digits. */
export function digestOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}
