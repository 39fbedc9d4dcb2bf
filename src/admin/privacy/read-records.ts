/** Audit of reads of personal data, for the collections in `audit.reads`. */
import { randomUUID } from 'node:crypto'
import type { Actor } from '../../catalog/actor.ts'
import { appendRecords } from '../../catalog/audit/append.ts'
import { auditDocument } from '../../catalog/audit/audit.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Config } from '../../config/schema.ts'
import type { ActionName, CollectionDefinition } from '../entities/definitions/definition.ts'

export interface ReadStores {
  catalog: Catalog
  config: Pick<Config, 'audit'>
  clock: { nowMs(): number }
}

export interface CompletedRead {
  definition: CollectionDefinition
  action: ActionName
  /** Only the field names are recorded: the values may be personal data. */
  filter: Readonly<Record<string, unknown>>
  /** Null if unknown, as for an export in progress. */
  rows: readonly Readonly<Record<string, unknown>>[] | null
}

/** Maximum number of keys per record. */
const KEYS_MAX = 1000

/**
 * Called before the answer is sent: without its audit record nothing is disclosed. Rejects with
 * `CatalogUnavailableError`.
 */
export async function recordRead(
  { catalog, config, clock }: ReadStores,
  actor: Actor,
  { definition, action, filter, rows }: CompletedRead,
): Promise<void> {
  const { name } = definition
  if (!config.audit.reads.some((each) => each === name)) return
  const keys = [...new Set((rows ?? []).map((row) => keyOf(definition, row)))]
  const entry = {
    collection: name,
    type: action,
    key: keys.length === 1 ? (keys[0] ?? '') : '',
    new: {
      queried: namesIn(filter),
      ...(rows !== null && { rows: rows.length, keys: keys.slice(0, KEYS_MAX) }),
    },
  }
  await appendRecords(catalog, [auditDocument(actor, clock.nowMs(), entry, randomUUID())])
}

function keyOf({ name, keyField }: CollectionDefinition, row: CompletedRead['filter']): string {
  const isEntity = name === 'accounts' || name === 'subscribers'
  return isEntity ? String(row[keyField]) : `${row['aid']}_${row['sid'] ?? 0}`
}

/** Queried fields, at any depth of `$and` and `$or`. */
function namesIn(filter: unknown): string[] {
  if (Array.isArray(filter)) return [...new Set(filter.flatMap(namesIn))]
  if (typeof filter !== 'object' || filter === null) return []
  const found = Object.entries(filter).flatMap(([name, value]) => {
    return name.startsWith('$') ? namesIn(value) : [name]
  })
  return [...new Set(found)]
}
