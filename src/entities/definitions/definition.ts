/**
 * Definition of a collection of the entity API: its fields and the parameters of each action.
 * Requests are validated against it, and the OpenAPI document is generated from it. Those of
 * entities are derived from their schemas (entity-collection.ts).
 */
import type { ActionName, Role } from '../../catalog/entities/api.ts'
import type { EntityCollection } from '../../catalog/entities/entity-table.ts'
import type { Members, Schema } from '../../catalog/entities/json-schema.ts'
import type { Params } from '../../requests/param.ts'

export { ACTIONS, type ActionName, type Role } from '../../catalog/entities/api.ts'

export interface ActionDefinition {
  /** The caller needs one of these roles; `admin` is always sufficient. */
  readonly roles: readonly Role[]
  /** Declared keys of `query`. */
  readonly query: Params
  /** Declared keys of `update`. */
  readonly update: Params
  /**
   * How a write addresses its revision: `id`: by `_id` only; `unique`: by `_id`, or by the key and
   * `effective_date`; `none`: it does not address a revision.
   */
  readonly target: 'id' | 'unique' | 'none'
  /** True if `update` accepts configured fields, or if `query` can filter by them. */
  readonly customFields: boolean
}

/** Whether its documents have no revisions. */
export function isRecord({ record }: Pick<CollectionDefinition, 'record'>): boolean {
  return record !== undefined
}

/** Writes of a revision of an entity. */
const REVISION_WRITES: readonly ActionName[] = [
  'update',
  'close',
  'closeandnew',
  'reopen',
  'move',
  'permanentchange',
  'delete',
]

/** Whether `If-Match` may name the version of what the action changes. */
export function isVersioned(definition: CollectionDefinition, action: ActionName): boolean {
  return !isRecord(definition) && REVISION_WRITES.includes(action)
}

/** Whether the node assigns the key, a number. */
export function isNumbered({ actions, keyField }: CollectionDefinition): boolean {
  return actions.create?.update[keyField]?.type === 'generated'
}

export type SortOrder = Readonly<Record<string, 1 | -1>>

/** Schema of a field in requests. */
export interface FieldDocs {
  readonly request: Schema
  /** Schema of the stored field, if that is different; null if documents do not have it. */
  readonly stored?: Schema | null
}

export interface CollectionDefinition {
  /** Name in the URL path. */
  readonly name: string
  /** Description for the OpenAPI document. */
  readonly about: string
  /** Collection of the store. */
  readonly store: EntityCollection | 'lines' | 'balances' | 'bills' | 'audit' | 'jobs' | 'events'
  /** Fields of documents that only the node writes, which have no revisions. */
  readonly record?: Members
  /** Fields with the same value in every document. */
  readonly fixed: Readonly<Record<string, unknown>>
  /** Field that identifies the entity of a revision; it never changes. */
  readonly keyField: string
  /**
   * Fields that must not equal those of another entity, `all` of them together or `any` of them.
   */
  readonly duplicate: { readonly fields: readonly string[]; readonly by: 'all' | 'any' }
  /** True if changes before the end of the last confirmed cycle are refused. */
  readonly hasMinimumDate: boolean
  /**
   * Category and path of the configured fields in the stored configuration; null if it has none.
   */
  readonly configuredFieldsPath: readonly string[] | null
  /** Fields that responses never contain. */
  readonly hidden: readonly string[]
  /** Fields that only the node writes; those that a client sends back are ignored. */
  readonly derived: readonly string[]
  /** Declared fields and parameters of `query`, by name. */
  readonly docs: Readonly<Record<string, FieldDocs>>
  /**
   * Dotted paths of dates that responses to reads contain as texts, in addition to those of
   * revisions.
   */
  readonly textDates: readonly string[]
  /** Completes the order of a read to that of an index; by the key field and `from` if absent. */
  indexOrder?(sort: SortOrder): SortOrder
  readonly actions: Readonly<Partial<Record<ActionName, ActionDefinition>>>
}
