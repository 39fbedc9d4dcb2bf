/** Audit of reads of personal data, for the collections in `audit.reads`. */
import { randomUUID } from 'node:crypto'
import type { Actor } from '../catalog/actor.ts'
import { appendRecords } from '../catalog/audit/append.ts'
import { auditDocument } from '../catalog/audit/audit.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { Config } from '../config/schema.ts'
import { type ActionName, type CollectionDefinition, isNumbered } from './definitions/definition.ts'

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

/** The part of a report that its record has. */
export interface ReadReport {
  readonly entity: ReadEntity
  readonly joined: readonly ReadEntity[]
  readonly columns: readonly ReadField[]
  readonly conditions: readonly ReadField[]
}

interface ReadEntity {
  readonly name: string
  readonly definition: Pick<CollectionDefinition, 'name'>
}

interface ReadField {
  readonly entity: string
  readonly field: { readonly path: string }
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

/**
 * As `recordRead`, of the entities that a report shows. `rows`: null if unknown, as for a file that
 * is written later.
 */
export async function recordReportRead(
  { catalog, config, clock }: ReadStores,
  actor: Actor,
  { entity, joined, columns, conditions }: ReadReport,
  rows: number | null,
): Promise<void> {
  const recorded = new Map(
    [entity, ...joined]
      .filter(({ definition }) => config.audit.reads.some((each) => each === definition.name))
      .map(({ name, definition }) => [definition.name, name]),
  )
  const pathsOf = (parts: ReadReport['columns'], name: string) => [
    ...new Set(parts.filter((part) => part.entity === name).map(({ field }) => field.path)),
  ]
  const entries = [...recorded].map(([collection, name]) => ({
    collection,
    type: 'report',
    key: '',
    new: {
      queried: pathsOf(conditions, name),
      shown: pathsOf(columns, name),
      ...(rows !== null && { rows }),
    },
  }))
  const nowMs = clock.nowMs()
  if (entries.length === 0) return
  await appendRecords(
    catalog,
    entries.map((entry) => auditDocument(actor, nowMs, entry, randomUUID())),
  )
}

function keyOf(definition: CollectionDefinition, row: CompletedRead['filter']): string {
  const { keyField } = definition
  return isNumbered(definition) ? String(row[keyField]) : `${row['aid']}_${row['sid'] ?? 0}`
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
