/**
 * What a collection of the entity API is: its fields, and what each of its actions takes. Requests
 * are validated by it, and the OpenAPI document is made from it (spec/entity-api.md 1.4, 3).
 */
import type { EntityCollection } from '../../../catalog/collections.ts'

/** How a value is read (spec/entity-api.md 1.4); `of`: what the members of a list are. */
export type Param = {
  /** Refused if it is absent, or an empty text. */
  readonly mandatory?: true
  /** `key`: capital letters, digits and `_`; `path`: no leading `$`, no dots. */
  readonly pattern?: 'key' | 'path'
  /** One of these. */
  readonly options?: readonly string[]
  readonly description?: string
} & (
  | {
      readonly type:
        | 'string'
        | 'integer'
        | 'float'
        | 'number'
        | 'boolean'
        | 'datetime'
        | 'dbid'
        | 'email'
        /** Made by the node; what a client sends is not looked at. */
        | 'generated'
        /** Any JSON value. */
        | 'json'
    }
  /** Filters on dates: an operator object. */
  | { readonly type: 'datetimearray' }
  /** A list or an object as it is; one value is a list of one. */
  | { readonly type: 'array'; readonly of?: 'string' | 'integer' | 'datetime' }
)

export type Params = Readonly<Record<string, Param>>

export const ACTIONS = [
  'get',
  'uniqueget',
  'create',
  'update',
  'close',
  'closeandnew',
  'reopen',
  'delete',
  'move',
  'permanentchange',
  'import',
  'export',
  'erase',
] as const

export type ActionName = (typeof ACTIONS)[number]

export type Role = 'read' | 'write' | 'admin' | 'reports'

export interface ActionDefinition {
  /** Any of them may; `admin` always may (spec/entity-api.md 5.2). */
  readonly roles: readonly Role[]
  /** Declared keys of `query`. */
  readonly query: Params
  /** Declared keys of `update`. */
  readonly update: Params
  /**
   * How a write finds its revision (spec/entity-api.md 1.5): `id`: by `_id` alone; `unique`: by
   * `_id`, or by the key and `effective_date`; `none`: it addresses none.
   */
  readonly target: 'id' | 'unique' | 'none'
  /** Whether configured fields are taken from `update`, or searched by in `query`. */
  readonly customFields: boolean
}

/** Collections of the store whose documents have no revisions. */
const RECORD_STORES = ['lines', 'balances', 'bills', 'audit', 'jobs'] as const

type RecordStore = (typeof RECORD_STORES)[number]

export function isRecord({ store }: Pick<CollectionDefinition, 'store'>): boolean {
  return RECORD_STORES.some((name) => name === store)
}

export interface CollectionDefinition {
  /** As in the path. */
  readonly name: string
  /** Collection of the store. */
  readonly store: EntityCollection | RecordStore
  /** Fields that every document of it has. */
  readonly fixed: Readonly<Record<string, unknown>>
  /** Field that tells which entity a revision belongs to; it never changes. */
  readonly keyField: string
  /** Fields of which `all` (or `any`) must not be the same in another entity (R9). */
  readonly duplicate: { readonly fields: readonly string[]; readonly by: 'all' | 'any' }
  /** Whether confirmed cycles bound its changes (spec/entity-api.md 2.1). */
  readonly hasMinimumDate: boolean
  /** Category and path of its configured fields; null: it has none. */
  readonly configuredFieldsPath: readonly string[] | null
  /** Fields that are never shown. */
  readonly hidden: readonly string[]
  readonly actions: Readonly<Partial<Record<ActionName, ActionDefinition>>>
}
