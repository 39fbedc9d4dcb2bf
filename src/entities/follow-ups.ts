/** Entries of the outbox that changes of entities add: work on the ledger and on bills. */
import type { Actor } from '../catalog/actor.ts'
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
