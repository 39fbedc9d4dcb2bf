/** What all rows of one import have in common. */
import { createHash } from 'node:crypto'
import type { Actor } from '../../../catalog/actor.ts'
import { ObjectId } from '../../../catalog/collections.ts'
import type { RawDocument } from '../../../catalog/compile/document.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import type { EntityStores } from '../requests/entity-request.ts'
import type { RuleCache } from '../rules/cache.ts'
import type { CollectionRules } from '../rules/rule.ts'
import type { PendingValues } from './pending-values.ts'
import type { ImportSettings } from './settings.ts'
import type { ValidUnit } from './unit.ts'

export interface ImportJob {
  actor: Actor
  stores: EntityStores
  definition: CollectionDefinition
  fields: readonly FieldDefinition[]
  settings: ImportSettings
  importId: string
  /** Fields of rows that the collection does not have. */
  ignored: Set<string>
  /** Of a dry run: what all rows before have taken; nothing of it is in the store. */
  pendingValues: PendingValues | null
}

/** A unit on its way to be a document. */
export interface NewRow {
  unit: ValidUnit
  document: RawDocument
}

/**
 * The id of the document that a unit becomes. The same import gives the same ones, so that what was
 * written before it was cut off is found, and never written twice.
 */
export function documentIdOf(importId: string, { labels }: ValidUnit): ObjectId {
  const hash = createHash('sha256').update(JSON.stringify([importId, labels[0]]))
  return new ObjectId(hash.digest().subarray(0, 12))
}

/** The stores with rules that read what rows have in common once. */
export function withCache(stores: EntityStores, cache: RuleCache): EntityStores {
  const rules = Object.entries(stores.rules).map(([name, rule]): [string, CollectionRules] => {
    const { prepare, check } = rule
    return [
      name,
      {
        ...rule,
        ...(prepare && {
          prepare: (changes, target, context) => prepare(changes, target, { ...context, cache }),
        }),
        ...(check && {
          check: (document, stored, context) => check(document, stored, { ...context, cache }),
        }),
      },
    ]
  })
  return { ...stores, rules: Object.fromEntries(rules) }
}
