/** Context that all rows of an import share. */
import { createHash } from 'node:crypto'
import type { Actor } from '../../catalog/actor.ts'
import { ObjectId } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
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
  /** Fields in rows that the collection does not have. */
  ignored: Set<string>
  /** In a dry run: values of all earlier rows, which are not stored. Null otherwise. */
  pendingValues: PendingValues | null
}

/** A unit with the document that it becomes. */
export interface NewRow {
  unit: ValidUnit
  document: RawDocument
}

/**
 * The id of the document of a unit. It is the same in each attempt of an import, so that documents
 * that an interrupted attempt has written are detected.
 */
export function documentIdOf(importId: string, { labels }: ValidUnit): ObjectId {
  const hash = createHash('sha256').update(JSON.stringify([importId, labels[0]]))
  return new ObjectId(hash.digest().subarray(0, 12))
}

/** The stores with rules that use the cache for reads that rows share. */
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
