/** Rules of a collection, beyond the types of fields: all that is special to it. */
import type { CustomerLookup } from '../../billing/customer-lookup.ts'
import type { Actor } from '../../catalog/actor.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { ChangeDecision } from '../../catalog/revisions/entity-changes.ts'
import type { Sealer } from '../../catalog/sealing/sealing.ts'
import type { OutboxEntry } from '../../catalog/transactions/outbox.ts'
import type { Config } from '../../config/schema.ts'
import type { Fields } from '../../domain/fields.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { ActionName } from '../definitions/definition.ts'
import type { Draft } from '../timeline/draft.ts'
import type { Edge } from '../timeline/move.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import type { RuleCache } from './cache.ts'

/** Settings of the installation that rules depend on. */
export interface RuleSettings {
  config: Pick<Config, 'rating' | 'billing' | 'entities'>
  sealer: Pick<Sealer, 'seal'>
}

export interface RuleContext {
  catalog: Catalog
  ledger: Ledger
  lookup: CustomerLookup
  action: ActionName
  nowMs: number
  /** IANA zone of the installation. */
  zone: string
  /** Day of the month on which the billing cycle begins. */
  cycleDay: number
  /** Instant from which the written data is in effect, epoch ms. */
  fromMs: number
  /** True for a revision of another system, whose dates are kept. */
  isMigrated?: boolean
  actor: Actor
  /** True for a write of which something else is refused already. */
  isRefused?: boolean
  /** Shared by all rows of an import (cache.ts). Absent to read everything. */
  cache?: RuleCache
}

export interface CollectionRules {
  /**
   * Completes the requested changes before they are applied to any revision. `target`: the
   * addressed revision; null on create. Throws `EntityRuleError`.
   */
  prepare?(
    changes: FieldChanges,
    target: RawDocument | null,
    context: RuleContext,
  ): Promise<FieldChanges>
  /**
   * Validates a revision before it is stored. `stored`: its previous version; null if it is new.
   * Throws `EntityRuleError`.
   */
  check?(document: RawDocument, stored: RawDocument | null, context: RuleContext): Promise<void>
  /**
   * Refuses that an entity is no longer valid in the period of the revision if others need it then.
   * Throws `InUseError` with those, or `TargetError` if an operator would lock out everyone.
   */
  checkUnused?(document: RawDocument, context: RuleContext): Promise<void>
  /** True if the validity may be shortened even so, with a warning instead of a refusal. */
  readonly endsWhileUsed?: boolean
  /**
   * Reads once what the check of new entities needs, which throws `EntityRuleError`. It precedes
   * `check`.
   */
  newEntityCheck?(
    documents: readonly RawDocument[],
    context: Pick<RuleContext, 'catalog' | 'zone'>,
  ): Promise<(document: RawDocument) => void>
  /**
   * Updates derived fields of all revisions. `known`: as they were before, or as another system
   * has them.
   */
  derive?(draft: Draft, known?: readonly RawDocument[]): void
  /** Seals the secrets in changed revisions. */
  seal?(draft: Draft): void
  /** Adds the writes and follow-up operations that belong to a new entity. */
  withRelated?<T>(
    decision: ChangeDecision<T>,
    added: RawDocument,
    context: RuleContext,
  ): ChangeDecision<T> | Promise<ChangeDecision<T>>
  /** Work on other stores that belongs to a change. Throws `EntityRuleError`. */
  followUp?(draft: Draft, context: RuleContext): OutboxEntry | undefined
  /** Warnings about a change that is stored nevertheless. */
  changeWarnings?(draft: Draft, zone: string): string[]
  /** Warnings about the revision in the response to a write. */
  writtenWarnings?(
    revision: Fields,
    context: Pick<RuleContext, 'catalog' | 'action' | 'nowMs'>,
  ): Promise<string[]>
  /**
   * Moves parts of a revision along with its edge. A `move` of a collection with this rule moves
   * the neighbour even across a gap.
   */
  withMovedEdge?(revision: RawDocument, edge: Edge, wasMs: number, atMs: number): RawDocument
}
