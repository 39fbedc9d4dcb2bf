/** Documents of entity locks, with the write-ahead intents in them. */
import type { ProcessIdentity } from '../../runtime/process-identity.ts'
import type { AuditIntent } from '../audit/audit-document.ts'
import type { RawDocument } from '../compile/document.ts'
import type { EntityCollection } from '../entities/entity-table.ts'

/** Write-ahead intent of a change, which any process can complete. */
export interface WriteIntent {
  collection: EntityCollection
  steps: RevisionWrite[]
  /** Owners of the profiles that change. */
  owners: ProfileOwner[]
  /** Follow-up operation on the ledger; opaque to the catalogue. */
  sequel: unknown
  /**
   * If absent, nothing is recorded. Steps without a document in `steps` are recorded if they were
   * stored.
   */
  audit?: AuditIntent
}

/** One lock. Locks acquired together share a `group`; the `first` one holds the intent. */
export interface LockDocument {
  /** Name of the entity. */
  _id: string
  group: string
  first: string
  /** Unique per holder. */
  token: string
  holder: ProcessIdentity
  expires: Date
  change?: WriteIntent
}

/**
 * One write of a revision. A document to `replace` must still have the number `expectedRev`: 0 if
 * it has none, null for any number.
 */
export type RevisionWrite =
  | { mode: 'insert'; document: RawDocument }
  | { mode: 'replace'; document: RawDocument; expectedRev: number | null }

/** An account or a subscriber; `sid` is 0 for the account itself. */
export interface ProfileOwner {
  aid: number
  sid: number
}
