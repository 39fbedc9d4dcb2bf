/** An audit record: who did what. */
import type { IndexDescription, ObjectId } from 'mongodb'
import type { Actor } from '../actor.ts'
import type { RawDocument } from '../compile/document.ts'

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
 * `removed/…`: the records from `from` to `seq` were removed by retention (removed-runs.ts).
 * `syslog`: the newest record forwarded to syslog.
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

/** One write of a change: the content of its audit record, except the document after the write. */
export interface AuditedStep extends Pick<AuditDocument, 'collection' | 'type' | 'key'> {
  /** Id of the revision. */
  readonly id: ObjectId
  readonly old: RawDocument | null
}

/** The author of a change, and its audit records. */
export interface ChangeAudit {
  readonly actor: Actor
  readonly steps: readonly AuditedStep[]
}

/** Position of a record in the chain. */
export interface ChainLink {
  /** 1 for the first record; numbers are never reused. */
  seq: number
  /** Hash of the previous record; 64 zeros for the first one. */
  prev: string
  hash: string
  /** Seed from which the salts of all fields are derived. Absent once a field was erased. */
  salt?: string
  /**
   * Present once a field was erased. In canonical order, per field: `s:` and its salt, or `c:` and
   * its commitment.
   */
  fields?: string[]
  /** Ids of the erasures that removed fields. */
  erased_by?: string[]
}

/** The link that the next record refers to. */
export interface ChainEnd {
  seq: number
  hash: string
}
