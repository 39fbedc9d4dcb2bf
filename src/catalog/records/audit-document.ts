/** An audit record: who did what. */
import type { IndexDescription, ObjectId } from 'mongodb'
import type { Actor } from '../actor.ts'
import type { RawDocument } from '../compile/document.ts'
import {
  anyValue,
  closed,
  constant,
  date,
  flag,
  integer,
  listOf,
  mapOf,
  part,
  ref,
  type StoredOf,
  searchable,
  text,
  type ValueOf,
} from '../entities/json-schema.ts'

export const AUDIT_USER = part('Author of the action.', {
  _id: text('Id of the user, or name of the client.'),
  name: text('Name.'),
  api: flag('Whether it was an API client.'),
  by: text('Authentication method: `session`, `token`, `signature`, `cli`, …'),
})

const LINK = {
  seq: integer('Number of the entry, from 1.'),
  prev: text('Hash of the entry before.'),
  hash: text('Hash of the entry.'),
  erased_by: listOf(text('Id of an erasure.'), 'Erasures that removed fields.'),
} as const
export const AUDIT_LINK = closed('Place of an audit entry in the chain of hashes.', LINK, [
  'erased_by',
])

const CHANGED = anyValue('The document or setting before (`old`) and after the action, or null.')

/** Fields that the API returns. */
export const AUDIT = {
  source: searchable(constant('audit', 'Always `audit`.')),
  collection: searchable(text('Collection of the API, or `login`, `settings`, `oauth`, `clock`.')),
  type: searchable(text('Action.')),
  key: searchable(text('Key of the entity, user, category or client.')),
  urt: searchable(date('Time of the action.')),
  user: ref<ValueOf<typeof AUDIT_USER>>('auditUser', 'Author of the action.'),
  ip: text('IP address of the client; empty for the local machine.'),
  old: CHANGED,
  new: CHANGED,
  operation_id: text('Id of the operation on a balance.'),
  count: integer('Of refused requests: their number.'),
  reasons: mapOf(integer('Number of refusals.'), 'Of refused requests: their number by reason.'),
  last: date('Of refused requests: time of the last one.'),
  stamp: text('Unique id of the entry.'),
  chain: ref<ChainLink>('auditLink', 'Its place in the chain of hashes.'),
} as const

/** Records of refused requests count them. Other fields never change, except by erasure. */
type OfSome = 'operation_id' | 'count' | 'reasons' | 'last'

/** `chain` is set when the record is written (chain.ts). */
export interface AuditDocument extends StoredOf<typeof AUDIT, OfSome | 'chain'> {
  reasons?: Record<string, number>
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

/** Numbers of records are never reused; the first record has 64 zeros for `prev`. */
export interface ChainLink extends StoredOf<typeof LINK, 'erased_by'> {
  /** Seed from which the salts of all fields are derived. Absent once a field was erased. */
  salt?: string
  /**
   * Present once a field was erased. In canonical order, per field: `s:` and its salt, or `c:` and
   * its commitment.
   */
  fields?: string[]
}

/** The link that the next record refers to. */
export type ChainEnd = Pick<ChainLink, 'seq' | 'hash'>
