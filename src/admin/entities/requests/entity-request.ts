/** A request of the entity API that was read, cast, and checked by the definition of its action. */

import type { Actor } from '../../../catalog/actor.ts'
import type { Catalog } from '../../../catalog/connection.ts'
import type { ChangeStores } from '../../../catalog/revisions/entity-changes.ts'
import type { Config } from '../../../config/schema.ts'
import type { Fields } from '../../../domain/fields.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/log.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import type { CollectionRules } from '../rules/rule.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'

/** What the actions work with. */
export interface EntityStores extends ChangeStores {
  catalog: Catalog
  ledger: Ledger
  clock: Clock
  config: Pick<Config, 'rating' | 'ledger' | 'entities' | 'audit'>
  rules: Readonly<Record<string, CollectionRules>>
  /** What moving the balances of a subscriber takes; `follow` does it. */
  planTransfer(move: AccountMove): Promise<unknown>
  log: Pick<Logger, 'warn' | 'error'>
}

export interface AccountMove {
  sid: number
  fromAid: number
  toAid: number
  operationId: string
}

export interface ReadRequest {
  definition: CollectionDefinition
  filter: Fields
  /** Zero-based. */
  page: number
  size: number
  sort: Readonly<Record<string, 1 | -1>>
  /** Null: all fields. */
  project: Readonly<Record<string, 0 | 1>> | null
  /** 0 active, 1 future, 2 expired; of `uniqueget`. */
  states: readonly number[]
  /** Aborted when nobody waits for the answer any more. */
  signal?: AbortSignal | undefined
}

/** Rows as they are stored, with what is told of their revisions. */
export interface ReadResult {
  rows: Fields[]
  hasMore: boolean
}

export interface WriteRequest {
  definition: CollectionDefinition
  /** Who writes. */
  actor: Actor
  /** `_id`, key fields and `effective_date` of `query`. */
  target: Fields
  /** Declared fields, and members of lists. */
  changes: FieldChanges
  /** `update` as it came: configured fields are read from it. */
  raw: Fields
  from: Date | null
  to: Date | null
  /** Configured fields of the collection. */
  fields: readonly FieldDefinition[]
  /** Whether others may be left without what they need (`force`). */
  isForced?: boolean
}

export interface WriteResult {
  details: boolean | null
  /** Several, where an action has changed several. */
  entity: object | readonly object[] | null
  /** Further members of the answer. */
  more?: Fields
  /** What was done all the same, and the caller should know. */
  warnings?: readonly string[]
}
