/** What a collection asks of its documents beyond their types (spec/entity-api.md 3.1 to 3.16). */
import type { RawDocument } from '../../../catalog/compile/document.ts'
import type { Catalog } from '../../../catalog/connection.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { ActionName } from '../definitions/definition.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import type { RuleCache } from './cache.ts'

export interface RuleContext {
  catalog: Catalog
  ledger: Ledger
  action: ActionName
  nowMs: number
  /** IANA zone of the installation. */
  zone: string
  /** Day of the month on which the billing cycle begins. */
  cycleDay: number
  /** From when on what is written holds, epoch ms. */
  fromMs: number
  /** Name of the user who asks; absent for tokens and signatures. */
  user?: string
  /** Of an import: all its rows share one (cache.ts). Absent: everything is read. */
  cache?: RuleCache
}

export interface CollectionRules {
  /**
   * What is sent, with what the node adds to it; before it meets any revision. `target`: the
   * revision that the action addresses; null on create. Throws `EntityRuleError`.
   */
  prepare?(
    changes: FieldChanges,
    target: RawDocument | null,
    context: RuleContext,
  ): Promise<FieldChanges>
  /**
   * Refuses a revision as it would be stored. `stored`: as it was before; null for a new one.
   * Throws `EntityRuleError`.
   */
  check?(document: RawDocument, stored: RawDocument | null, context: RuleContext): Promise<void>
  /**
   * Refuses that an entity does not hold in the time of the revision any more, if somebody needs it
   * then. Throws `InUseError`, which says who, or `TargetError` where an operator would lock all
   * out.
   */
  checkUnused?(document: RawDocument, context: RuleContext): Promise<void>
}
