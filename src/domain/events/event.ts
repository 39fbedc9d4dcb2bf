/** An event: a rule that a balance of a subscriber has met, as it is committed with the balance. */
import type { ChargeRequest } from '../charge-request.ts'
import type { Session } from '../session.ts'
import {
  type BalanceCondition,
  type Receiver,
  type RuleActionDocument,
  receiverOf,
} from './rule-documents.ts'
import type { RuleMatch } from './rules.ts'
import { stampOf, type Use } from './uses.ts'

/** Plain JSON; names as in notifications. */
export interface BalanceEvent {
  /** Identifies the event; the same for each of its deliveries. */
  stamp: string
  event_type: 'balance' | 'balancePrepaid'
  event_code: string
  event_description: string
  /** The path that has met the rule, and the entities that it is about. */
  matched_path: string
  related_entities?: readonly { type: string; key: string }[]
  before: number | string | boolean | null
  after: number | string | boolean | null
  based_on: 'monetary' | 'usage'
  group_total?: number
  reached_constant?: number
  reached_constant_percentage?: number
  /** Epoch ms, by the node's clock. */
  creation_ms: number
  aid: number
  /** The subscriber whose usage has met the rule, also for a balance of the account. */
  sid: number
  row: EventRow
  /** The balance: sid 0 is the account; bucket of prepaid credit. */
  balance: { sid: number; bucket_id?: number }
  conditions: readonly BalanceCondition[]
  /** The action of the rule on further usage. */
  action?: RuleActionDocument
  /** Where the rule says the event is sent, in place of the settings. */
  receiver: Receiver
}

/** The usage that has met the rule. */
export interface EventRow {
  usagev: number
  /** Event time, epoch seconds. */
  urt: number
  usaget: string
  /** Stamp of the line. */
  stamp: string
}

/** The request whose usage has met a rule. */
export interface ObservedUsage {
  aid: number
  sid: number
  request: Pick<ChargeRequest, 'eventTimeMs'>
  sessionKey: string
  session: Session
  uses: readonly Use[]
  nowMs: number
}

/** It has no stamp yet, which needs the version that is committed. */
export type UnstampedEvent = Omit<BalanceEvent, 'stamp'>

export function eventOf(
  { rule, balance, match }: RuleMatch,
  context: ObservedUsage,
): UnstampedEvent {
  const { document } = rule
  const { path, related_entities: related } = match.path
  const { isPrepaid, sid, bucket } = balance
  return {
    event_type: document.prepaid === true ? 'balancePrepaid' : 'balance',
    event_code: document.event_code,
    event_description: document.event_description ?? '',
    matched_path: path,
    ...(related === undefined ? {} : { related_entities: related }),
    before: match.before,
    after: match.after,
    based_on: match.basedOn,
    ...(match.groupTotal === undefined ? {} : { group_total: match.groupTotal }),
    ...(match.reached === undefined ? {} : { reached_constant: match.reached }),
    ...(match.percentage === undefined ? {} : { reached_constant_percentage: match.percentage }),
    creation_ms: context.nowMs,
    aid: context.aid,
    sid: context.sid,
    row: rowOf(context, bucket.usaget),
    balance: isPrepaid ? { sid, bucket_id: bucket.id } : { sid },
    conditions: document.conditions,
    ...(document.action === undefined ? {} : { action: document.action }),
    receiver: receiverOf(document),
  }
}

/** If a request has several services, one of the usage type that the balance pays for. */
function rowOf({ uses, sessionKey, session, request }: ObservedUsage, usaget: string): EventRow {
  const use = uses.find((one) => one.usaget === usaget) ?? uses[0]
  return {
    usagev: use?.units ?? 0,
    urt: Math.floor(request.eventTimeMs / 1000),
    usaget: use?.usaget ?? usaget,
    stamp: use === undefined ? '' : stampOf(use, sessionKey, session),
  }
}

/** The parts of a stamp beside the commit: the rule, its balance and path, and what was reached. */
export function identityOf(event: UnstampedEvent, balanceKey: string): string {
  const { event_code, matched_path, reached_constant, balance } = event
  return JSON.stringify([
    event_code,
    balance.sid,
    balanceKey,
    matched_path,
    reached_constant ?? null,
  ])
}
