/** The parts that definitions are made of (spec/entity-api.md 1.4, 1.5). */
import {
  ACTIONS,
  type ActionDefinition,
  type ActionName,
  type CollectionDefinition,
  type Param,
  type Params,
  type Role,
} from './definition.ts'

export const text: Param = { type: 'string' }
export const integer: Param = { type: 'integer' }
export const number: Param = { type: 'number' }
export const boolean: Param = { type: 'boolean' }
export const datetime: Param = { type: 'datetime' }
export const list: Param = { type: 'array' }
export const json: Param = { type: 'json' }
/** A text, a list of them, or an operator object. */
export const texts: Param = { type: 'array', of: 'string' }
/** The same of integers. */
export const integers: Param = { type: 'array', of: 'integer' }
/** An operator object of dates. */
export const dates: Param = { type: 'datetimearray' }
export const id: Param = { type: 'dbid' }

export function required<T extends Param>(param: T): T & { mandatory: true } {
  return { ...param, mandatory: true }
}

export const byId: Params = { _id: id }

/** What begins and ends with the revision. */
export const PERIOD: Params = { from: datetime, to: datetime }

/** `_id`, or the key with the date at which the revision holds. */
export function revisionBy(key: Params): Params {
  return { ...byId, ...key, effective_date: datetime }
}

interface ReadOptions {
  customFields?: boolean
  roles?: readonly Role[]
}

export function read(query: Params, options: ReadOptions = {}): ActionDefinition {
  const { customFields = true, roles = ['read'] } = options
  return { roles, query: { ...byId, ...query }, update: {}, target: 'none', customFields }
}

interface WriteOptions {
  customFields?: boolean
  roles?: readonly Role[]
  query?: Params
}

/** A write that addresses no revision. */
export function create(update: Params, options: WriteOptions = {}): ActionDefinition {
  const { customFields = true, roles = ['write'], query = {} } = options
  return { roles, query, update, target: 'none', customFields }
}

/** A write of one revision, found by `_id`, or by its key and `effective_date`. */
export function change(key: Params, update: Params, options: WriteOptions = {}): ActionDefinition {
  const { customFields = true, roles = ['write'] } = options
  return { roles, query: revisionBy(key), update, target: 'unique', customFields }
}

/** A write of one revision, found by `_id` alone. */
export function changeById(query: Params, update: Params, roles: readonly Role[] = ['write']) {
  const action: ActionDefinition = { roles, query, update, target: 'id', customFields: false }
  return action
}

export const remove = (roles: readonly Role[] = ['write']) => changeById(byId, {}, roles)

/**
 * The actions on revisions that take the same everywhere. `key`: what addresses an entity. `own`:
 * whether it has configured fields.
 */
export function lifecycle(key: Params, { own = true } = {}) {
  return {
    close: changeById({ _id: required(id) }, { to: datetime }),
    reopen: change(key, { from: required(datetime) }, { customFields: own }),
    move: change(key, PERIOD, { customFields: false }),
    delete: remove(),
  }
}

/** From a date on, in this revision and all later ones. */
export function permanentChange(
  key: Params,
  update: Params,
  options: WriteOptions = {},
): ActionDefinition {
  return change(key, { from: required(datetime), ...update }, options)
}

/** Settings of an import (spec/entity-api.md 2.12); the rows come as a file. */
const IMPORT: Params = {
  importType: { type: 'string', options: ['manual_mapping', 'predefined_mapping'] },
  delimiter: text,
  map: json,
  import_fields: list,
  default_values: json,
  predefined_values: json,
  linker: json,
  updater: json,
  multi_field_action: json,
  /** **Ours**: lines of JSON, each an `update`. By the name of the file if it is not given. */
  format: { type: 'string', options: ['csv', 'jsonl'] },
  /** **Ours**: everything is checked, and nothing is written. */
  dry_run: boolean,
}

export const importRows: ActionDefinition = create(IMPORT, { customFields: false })

/**
 * **Ours**: takes personal data out of the entity and of all that is recorded of it, as a job. A
 * permission of its own.
 */
export function erasure(key: Params): ActionDefinition {
  return create({ force: boolean }, { customFields: false, roles: ['admin'], query: key })
}

/** The revisions that end at `from` or later and begin at `to` or before (spec 2.13). */
export function exportRows(key: Params): ActionDefinition {
  return read({ ...key, ...PERIOD }, { customFields: false })
}

/** Settled for all collections of entities; a definition says what differs. */
export function collection(
  definition: Pick<CollectionDefinition, 'name' | 'store' | 'keyField' | 'actions'> &
    Partial<CollectionDefinition>,
): CollectionDefinition {
  const { keyField } = definition
  return {
    fixed: {},
    duplicate: { fields: [keyField], by: 'all' },
    hasMinimumDate: true,
    configuredFieldsPath: null,
    hidden: [],
    ...definition,
  }
}

/** The actions that a collection has, in the order in which they are told. */
export function actionsOf(definition: CollectionDefinition): readonly ActionName[] {
  return ACTIONS.filter((action) => definition.actions[action] !== undefined)
}

/** Without what is mandatory, and without what only `create` sets. */
export function optional(params: Params, without: readonly string[] = []): Params {
  const kept = Object.entries(params).filter(([name]) => !without.includes(name))
  return Object.fromEntries(
    kept.map(([name, { mandatory: _, ...param }]) => [name, param as Param]),
  )
}
