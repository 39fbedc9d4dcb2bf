/** Derives the collection of an entity from the annotations of its schema. */
import type { TProperties, TSchema } from '@sinclair/typebox'
import {
  type ActionName,
  apiOf,
  CHANGES,
  type FieldApi,
  type Role,
} from '../../catalog/entities/api.ts'
import { type EntityDefinition, KEY_PATTERN } from '../../catalog/entities/entity.ts'
import type { EntityCollection } from '../../catalog/entities/entity-table.ts'
import { choice, date, flag, integer, number, text } from '../../catalog/entities/json-schema.ts'
import type { Param, Params } from '../../requests/param.ts'
import type { ActionDefinition, CollectionDefinition, FieldDocs } from './definition.ts'
import {
  byId,
  change,
  changeById,
  collection,
  create,
  dates,
  datetime,
  erasure,
  id,
  importRows,
  PERIOD,
  read,
  required,
} from './params.ts'

/** A field of a schema that the API has. */
interface ApiField {
  readonly name: string
  readonly stored: TSchema
  readonly api: FieldApi
}

/** The collection of the API whose documents are in this collection of the store. */
export function entityCollection(
  store: EntityCollection,
  { schema, api }: EntityDefinition,
): CollectionDefinition {
  const { name, about, keyField, actions, parameters = {} } = api
  const own = fieldsOf(schema.properties)
  const fields = [...own, ...fieldsOf(parameters)]
  const namesOf = (trait: 'hidden' | 'derived') =>
    own.filter((field) => field.api[trait] === true).map((field) => field.name)
  const entity: EntityActions = {
    fields,
    keyField,
    key: params(fields.filter((field) => field.api.key === true).map(addressOf)),
    hasConfiguredFields: api.configuredFieldsPath !== undefined,
    hasPeriod: api.hasPeriod ?? true,
    isAddressedById: api.isAddressedById === true,
    readers: api.readers ?? ['read'],
    writers: api.writers ?? ['write'],
  }
  return collection({
    name,
    about,
    store,
    keyField,
    hidden: namesOf('hidden'),
    derived: namesOf('derived'),
    docs: {
      ...Object.fromEntries(own.flatMap((field) => docsOf(field, field.api.storedShape))),
      ...Object.fromEntries(fieldsOf(parameters).flatMap((field) => docsOf(field, null))),
    },
    textDates: api.textDates ?? [],
    fixed: api.fixed ?? {},
    hasMinimumDate: api.hasMinimumDate ?? true,
    configuredFieldsPath: api.configuredFieldsPath ?? null,
    ...(api.duplicate !== undefined && { duplicate: api.duplicate }),
    actions: Object.fromEntries(actions.map((action) => [action, actionOf(action, entity)])),
  })
}

function fieldsOf(properties: TProperties): readonly ApiField[] {
  return Object.entries(properties).flatMap(([name, stored]) => {
    const api = apiOf(stored)
    return api === undefined ? [] : [{ name, stored, api }]
  })
}

interface EntityActions {
  fields: readonly ApiField[]
  keyField: string
  /** Parameters that address a revision. */
  key: Params
  hasConfiguredFields: boolean
  hasPeriod: boolean
  isAddressedById: boolean
  readers: readonly Role[]
  writers: readonly Role[]
}

function actionOf(action: ActionName, entity: EntityActions): ActionDefinition {
  const { fields, key, keyField, readers, writers, hasConfiguredFields, isAddressedById } = entity
  const queried = fieldsIn('query', action, fields)
  const query = params(queried.map(filterOf))
  const changed = fieldsIn('update', action, fields)
  const update = params(changed.map(changeOf))
  const configured = { customFields: hasConfiguredFields, roles: writers }
  const declaredOnly = { customFields: false, roles: writers }
  const from = required(datetime)
  switch (action) {
    case 'get':
    case 'uniqueget':
      return read(query, { customFields: hasConfiguredFields, roles: readers })
    // The revisions that end at `from` or later and begin at `to` or earlier.
    case 'export':
      return read({ ...query, ...PERIOD }, { customFields: false, roles: readers })
    case 'create':
      return create(
        { ...(entity.hasPeriod && PERIOD), ...params(changed.map(creationOf)) },
        configured,
      )
    case 'update':
      return isAddressedById ? changeById(byId, update, writers) : change(key, update, configured)
    case 'close':
      return changeById({ _id: required(id) }, { to: datetime, ...update }, writers)
    case 'closeandnew':
      return change(key, { ...PERIOD, ...update }, configured)
    case 'reopen':
      return change(key, { from, ...update }, configured)
    case 'move':
      return change(key, { ...PERIOD, ...update }, declaredOnly)
    case 'permanentchange':
      return change(key, { from, ...update }, configured)
    case 'delete':
      return changeById({ ...byId, ...params(queried.map(addressOf)) }, {}, writers)
    case 'import':
      return importRows
    case 'resend':
      throw new RangeError(`${action} is an action of records only`)
    case 'erase':
      return erasure({ [keyField]: required({ type: 'integer' }) })
  }
}

function fieldsIn(
  part: 'query' | 'update',
  action: ActionName,
  fields: readonly ApiField[],
): readonly ApiField[] {
  return fields.filter(({ api }) => accepts(api, part).includes(action))
}

function accepts(api: FieldApi, part: 'query' | 'update'): readonly ActionName[] {
  if (part === 'query') return api.query ?? []
  return api.update ?? (api.derived === true ? [] : CHANGES)
}

function params(entries: readonly (readonly [string, Param])[]): Params {
  return Object.fromEntries(entries)
}

const SCALARS: Readonly<Record<string, ScalarParam>> = {
  string: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  Date: 'datetime',
}

type ScalarParam = 'string' | 'integer' | 'number' | 'boolean' | 'datetime'

/** Type of the stored field in requests: a choice of texts is a text, an unchecked value a list. */
function storedType({ anyOf, const: only, type }: TSchema): ScalarParam | 'array' {
  if (anyOf !== undefined || only !== undefined) return 'string'
  return SCALARS[String(type)] ?? 'array'
}

/** The only values of a stored text. */
function storedOptions({ anyOf, const: only }: TSchema): readonly string[] | undefined {
  if (anyOf !== undefined) return (anyOf as TSchema[]).map((each) => String(each['const']))
  return only === undefined ? undefined : [String(only)]
}

/** The parameter of the field in `create`. */
function creationOf(field: ApiField): readonly [string, Param] {
  const { name, stored, api } = field
  const { type = storedType(stored), of, pattern, mandatory } = api
  if (type === 'generated') return [name, { type }]
  const options = api.options ?? (api.type === undefined ? storedOptions(stored) : undefined)
  const hasKeyPattern = stored['pattern'] === KEY_PATTERN
  const param = {
    type,
    ...(of !== undefined && { of }),
    ...(mandatory !== undefined && { mandatory }),
    ...(options !== undefined && { options }),
    ...(hasKeyPattern && { pattern: 'key' }),
    ...(pattern !== undefined && { pattern }),
  }
  return [name, param as Param]
}

/** The parameter of the field in changes: mandatory fields may be absent. */
function changeOf(field: ApiField): readonly [string, Param] {
  const [name, { mandatory: _, ...param }] = creationOf(field)
  // A stored name need not be an e-mail address, as that of the first user.
  return [name, (param.type === 'email' ? { type: 'string' } : param) as Param]
}

/** The single value of the field in `query`. */
function addressOf({ name, stored, api }: ApiField): readonly [string, Param] {
  const type = api.type === 'string' ? 'string' : storedType(stored)
  const options = storedOptions(stored)
  return [name, { type, ...(options !== undefined && { options }) } as Param]
}

/** The filter of the field in `query`. */
function filterOf(field: ApiField): readonly [string, Param] {
  const [name, param] = addressOf(field)
  if (field.api.isPlainFilter === true) return [name, param]
  if (param.type === 'datetime') return [name, dates]
  const isListed = param.type === 'string' || param.type === 'integer'
  return [name, isListed ? { type: 'array', of: param.type } : param]
}

/** The schema of the field with its description; nothing if it has none. */
function docsOf(
  { name, stored, api }: ApiField,
  storedDocs: FieldDocs['stored'],
): readonly (readonly [string, FieldDocs])[] {
  const { description } = stored
  if (description === undefined) return []
  const request = api.shape ?? plainSchema(stored, api, description)
  return [[name, { request, ...(storedDocs !== undefined && { stored: storedDocs }) }]]
}

function plainSchema(stored: TSchema, api: FieldApi, description: string) {
  const options = api.options ?? storedOptions(stored)
  const type = api.type === undefined || api.type === 'generated' ? storedType(stored) : api.type
  switch (type) {
    case 'integer':
      return integer(description)
    case 'number':
      return number(description)
    case 'boolean':
      return flag(description)
    case 'datetime':
      return date(description)
    default:
      return options === undefined ? text(description) : choice(options, description)
  }
}
