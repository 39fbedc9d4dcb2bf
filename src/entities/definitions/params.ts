/** Building blocks of the collection definitions. */
import type { EntityCollection } from '../../catalog/entities/entity-table.ts'
import {
  isSearchable,
  type Members,
  refName,
  type Schema,
} from '../../catalog/entities/json-schema.ts'
import type { Param, Params } from '../../requests/param.ts'
import {
  ACTIONS,
  type ActionDefinition,
  type ActionName,
  type CollectionDefinition,
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
/** An integer, a list of them, or an operator object. */
export const integers: Param = { type: 'array', of: 'integer' }
/** An operator object of dates. */
export const dates: Param = { type: 'datetimearray' }
export const id: Param = { type: 'dbid' }

export function required<T extends Param>(param: T): T & { mandatory: true } {
  return { ...param, mandatory: true }
}

export const byId: Params = { _id: id }

/** Validity of the revision. */
export const PERIOD: Params = { from: datetime, to: datetime }

/** `_id`, or the key with a date at which the revision is valid. */
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

/** Both reads of a record. */
export function reads(query: Params) {
  const get = read(query, { customFields: false })
  return { get, uniqueget: get }
}

interface WriteOptions {
  customFields?: boolean
  roles?: readonly Role[]
  query?: Params
}

/** A write that does not address a revision. */
export function create(update: Params, options: WriteOptions = {}): ActionDefinition {
  const { customFields = true, roles = ['write'], query = {} } = options
  return { roles, query, update, target: 'none', customFields }
}

/** A write of one revision, addressed by `_id`, or by its key and `effective_date`. */
export function change(key: Params, update: Params, options: WriteOptions = {}): ActionDefinition {
  const { customFields = true, roles = ['write'] } = options
  return { roles, query: revisionBy(key), update, target: 'unique', customFields }
}

/** A write of one revision, addressed by `_id` only. */
export function changeById(query: Params, update: Params, roles: readonly Role[] = ['write']) {
  const action: ActionDefinition = { roles, query, update, target: 'id', customFields: false }
  return action
}

export const remove = (roles: readonly Role[] = ['write']) => changeById(byId, {}, roles)

/** Settings of an import; the rows are sent as a file. */
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
  /** Tollgate extension: JSON lines, each an `update`. Defaults to the format of the file name. */
  format: { type: 'string', options: ['csv', 'jsonl'] },
  /** Tollgate extension: everything is validated and nothing is written. */
  dry_run: boolean,
}

export const importRows: ActionDefinition = create(IMPORT, { customFields: false })

const FORCE: Param = {
  type: 'boolean',
  description: 'Whether the action is done despite objections.',
}

/**
 * Tollgate extension: a job that removes personal data from the entity and from all its records.
 * Requires the role `admin`.
 */
export function erasure(key: Params): ActionDefinition {
  return create({ force: FORCE }, { customFields: false, roles: ['admin'], query: key })
}

/** A definition with the defaults of entity collections. */
export function collection(
  definition: Pick<CollectionDefinition, 'name' | 'about' | 'store' | 'keyField' | 'actions'> &
    Partial<CollectionDefinition>,
): CollectionDefinition {
  const { keyField } = definition
  return {
    fixed: {},
    duplicate: { fields: [keyField], by: 'all' },
    hasMinimumDate: true,
    configuredFieldsPath: null,
    hidden: [],
    derived: [],
    docs: {},
    textDates: [],
    ...definition,
  }
}

/** The actions of a collection in canonical order. */
export function actionsOf(definition: CollectionDefinition): readonly ActionName[] {
  return ACTIONS.filter((action) => definition.actions[action] !== undefined)
}

/** Descriptions of fields with the same schema in requests and documents. */
export function requestDocs(
  fields: Readonly<Record<string, Schema>>,
): CollectionDefinition['docs'] {
  return Object.fromEntries(Object.entries(fields).map(([name, request]) => [name, { request }]))
}

/** Filters on the searchable fields of a record, by their dotted names. */
export function filtersOf(record: Members, path = ''): Params {
  const filters = Object.entries(record).map(([name, schema]) =>
    isSearchable(schema)
      ? { [`${path}${name}`]: filterOf(schema) }
      : filtersOf((schema['properties'] ?? {}) as Members, `${path}${name}.`),
  )
  return Object.assign({}, ...filters)
}

const FILTERS: Readonly<Record<string, Param>> = { string: texts, integer: integers, boolean }

function filterOf(schema: Schema): Param {
  return refName(schema) === 'dateGiven' ? dates : (FILTERS[String(schema['type'])] ?? list)
}

type RecordDefinition = Pick<CollectionDefinition, 'about' | 'keyField' | 'actions'> &
  Partial<CollectionDefinition> & {
    readonly name: Exclude<CollectionDefinition['store'], EntityCollection>
    readonly record: Members
  }

/** The collection of records of the same name; `docs`: of parameters that are no fields. */
export function recordCollection({ docs, ...own }: RecordDefinition): CollectionDefinition {
  const { name, record, actions } = own
  const names = Object.values(actions).flatMap(({ query, update }) =>
    Object.keys({ ...query, ...update }),
  )
  const fields = names.flatMap((path) => {
    const field = fieldAt(record, path.split('.'))
    return field === undefined ? [] : [[path, field] as const]
  })
  return collection({
    store: name,
    duplicate: { fields: [], by: 'all' },
    hasMinimumDate: false,
    ...own,
    docs: { ...requestDocs(Object.fromEntries(fields)), ...docs },
  })
}

function fieldAt(record: Members, [name = '', ...path]: readonly string[]): Schema | undefined {
  const field = record[name]
  if (field === undefined || path.length === 0) return field
  return fieldAt((field['properties'] ?? {}) as Members, path)
}
