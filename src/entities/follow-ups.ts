/** Entries of the outbox that changes of entities add: work on the ledger and on bills. */
import { type Actor, plainActor } from '../catalog/actor.ts'
import type { RawDocument } from '../catalog/compile/document.ts'
import type { OutboxEntry } from '../catalog/transactions/outbox.ts'

/** A transfer of the balances of a subscriber to another account. */
export interface TransferRequest {
  sid: number
  fromAid: number
  toAid: number
  /** Repeat the transfer under the same id, within the retention time of results. */
  operationId: string
}

/** The installments of a subscriber that was closed. */
export interface EarlyPayment {
  /** Actor that closed the subscriber. */
  actor: Actor
  aid: number
  sid: number
}

/** Balances are listed when they are transferred. */
export type FollowUp = OutboxEntry &
  (
    | { kind: 'transfer'; payload: TransferRequest & { buckets: null } }
    | { kind: 'prepone'; payload: EarlyPayment }
  )

/** Subject of the outbox entries that must not overlap: loads and transfers of its balances. */
export function balancesOf(sid: number): string {
  return `balances/${sid}`
}

/** A prepaid group credited to a subscriber. */
export interface Renewal {
  /** Actor that created the auto-renewal, or the node for the later charges. */
  actor: Actor
  sid: number
  aid: number
  group: string
  /** In place of the operations of the group; absent to use those. */
  operation?: 'inc' | 'set'
  /** Id of the auto-renewal, and the date that is charged. */
  autorenew: string
  due: Date
  operationId: string
}

/** The entry for the charge of a due date. Its operation id is that of the date. */
export function renewalEntry(
  autorenew: RawDocument,
  dueMs: number,
  actor: Actor,
): OutboxEntry & { payload: Renewal } {
  const { _id, sid, aid, bucket_group: group, operation } = autorenew
  const id = _id.toHexString()
  const payload: Renewal = {
    actor: plainActor(actor),
    sid: Number(sid),
    aid: Number(aid),
    group: String(group),
    ...((operation === 'inc' || operation === 'set') && { operation }),
    autorenew: id,
    due: new Date(dueMs),
    operationId: renewalId(id, dueMs),
  }
  return { kind: 'renewal', payload, subject: balancesOf(payload.sid) }
}

export function renewalId(autorenew: string, dueMs: number): string {
  return `autorenew-${autorenew}-${new Date(dueMs).toISOString()}`
}
