/** Requests of the entity API, parsed and validated against the definition of their action. */
import type { CustomerLookup } from '../../billing/customer-lookup.ts'
import type { Actor } from '../../catalog/actor.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { ChangeStores } from '../../catalog/revisions/entity-changes.ts'
import type { Config } from '../../config/schema.ts'
import type { Fields } from '../../domain/fields.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import type { CollectionRules } from '../rules/rule.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import type { WriteIssues } from '../trial.ts'
import type { IfMatch } from './versions.ts'

/** Dependencies of the actions. */
export interface EntityStores extends ChangeStores {
  catalog: Catalog
  ledger: Ledger
  clock: Clock
  config: Pick<Config, 'rating' | 'billing' | 'ledger' | 'entities' | 'audit' | 'secrets' | 'data'>
  rules: Readonly<Record<string, CollectionRules>>
  lookup: CustomerLookup
  log: Pick<Logger, 'warn' | 'error'>
}

export interface ReadRequest {
  definition: CollectionDefinition
  filter: Fields
  /** Zero-based. */
  page: number
  size: number
  sort: Readonly<Record<string, 1 | -1>>
  /** Null for all fields. */
  project: Readonly<Record<string, 0 | 1>> | null
  /** 0 active, 1 future, 2 expired; only for `uniqueget`. */
  states: readonly number[]
  /** Aborted when the client disconnects. */
  signal?: AbortSignal | undefined
}

/** Rows as they are stored, with `revision_info` if requested. */
export interface ReadResult {
  rows: Fields[]
  hasMore: boolean
}

export interface WriteRequest {
  definition: CollectionDefinition
  /** Author of the write. */
  actor: Actor
  /** `_id`, key fields and `effective_date` of `query`. */
  target: Fields
  /** Declared fields and changes of list members. */
  changes: FieldChanges
  /** `update` as it was sent; configured fields are read from it. */
  raw: Fields
  from: Date | null
  to: Date | null
  /** Configured fields of the collection. */
  fields: readonly FieldDefinition[]
  /** True if the change is done even if other entities still need what it removes (`force`). */
  isForced?: boolean
  /** True for a revision of another system, whose dates are kept. */
  isMigrated?: boolean
  /** Notes what is wrong; absent if the first error ends the write. */
  issues?: WriteIssues
  /**
   * Runs first in the transaction of the change, and takes the right to it; if it throws, nothing
   * is written.
   */
  claim?: ((session: ClientSession) => Promise<void>) | undefined
  /** The version that the revision must have. */
  ifMatch?: IfMatch | null | undefined
}

export interface WriteResult {
  details: boolean | null
  /** A list if the action has changed several documents. */
  entity: object | readonly object[] | null
  /** Additional members of the response. */
  more?: Fields
  /** Problems that did not prevent the write. */
  warnings?: readonly string[]
}
