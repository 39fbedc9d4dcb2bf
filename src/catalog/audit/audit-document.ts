/** An audit record: who did what. */
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
  /** Client address; empty for this machine. */
  ip: string
  /** Documents before and after the change, without secrets; null if there was none. */
  old: unknown
  new: unknown
  /** Operation id of a balance change in the ledger. */
  operation_id?: string
  /**
   * Aggregated records of refused requests: the number of refusals in the window, the number by
   * reason, and the time of the last one. Other fields of a record never change, except by erasure.
   */
  count?: number
  reasons?: Record<string, number>
  last?: Date
  /** Unique, so that a repeated write creates no second record. */
  stamp: string
  /** Set when the record is written (chain.ts). */
  chain?: ChainLink
}

/**
 * `head`: the newest record known to be written (append.ts). `removed/…`: the records from `from`
 * to `seq` were removed by retention (removed-runs.ts). `syslog`: the newest record forwarded to
 * syslog.
 */
export interface AuditChainDocument {
  _id: string
  seq: number
  hash: string
  from?: number
  mac?: string
}

/** Queries read newest first, except those that use the first two indexes. */
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
