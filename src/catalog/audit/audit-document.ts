/** A record of who did what (spec/entity-api.md 6). */
import type { IndexDescription } from 'mongodb'
import type { ChainLink } from './chain.ts'

export interface AuditDocument {
  source: 'audit'
  /** Name of the collection in the API; `login`, `settings`, `oauth`. */
  collection: string
  /** Action: `create`, `closeandnew`, `login`, `set` ... */
  type: string
  /** Key of the entity, user, category or client. */
  key: string
  urt: Date
  user: { _id: string; name: string; api: boolean; by: string }
  /** Address it came from; empty for this machine. */
  ip: string
  /** Documents before and after, without secrets; null: there was none. */
  old: unknown
  new: unknown
  /** Of the ledger: under which the balance was changed. */
  operation_id?: string
  /**
   * Of refusals, which one record stands for as long as their window lasts: how many there were, of
   * each reason, and when the last one was. Nothing else of a record is ever changed.
   */
  count?: number
  reasons?: Record<string, number>
  last?: Date
  /** Unique: the same write is recorded once. */
  stamp: string
  /** Its place in the chain (chain.ts); given when it is written. */
  chain?: ChainLink
}

/**
 * `head`: the newest record that is known to be written (append.ts). `removed/…`: records that
 * retention has removed, `from` to `seq` (removed.ts). `syslog`: the newest that was sent on.
 */
export interface AuditChainDocument {
  _id: string
  seq: number
  hash: string
  from?: number
  mac?: string
}

/** All but the first two are read from the newest on. */
export const AUDIT_INDEXES: readonly IndexDescription[] = [
  { key: { stamp: 1 }, unique: true },
  {
    key: { 'chain.seq': 1 },
    unique: true,
    partialFilterExpression: { 'chain.seq': { $gt: 0 } },
  },
  { key: { urt: 1, _id: 1 } },
  { key: { key: 1, urt: 1, _id: 1 } },
  { key: { collection: 1, urt: 1, _id: 1 } },
  { key: { 'user.name': 1, urt: 1, _id: 1 } },
]
