/** Rules of a collection for its documents, beyond the types of fields. */
import type { CustomerLookup } from '../../billing/customer-lookup.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { ActionName } from '../definitions/definition.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import type { RuleCache } from './cache.ts'

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
  /** Name of the logged-in user; absent for tokens and signatures. */
  user?: string
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
}
