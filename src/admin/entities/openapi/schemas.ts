/** JSON schemas of what requests take, from the definitions that read them. */
import type { ActionDefinition, CollectionDefinition, Param, Params } from '../definition.ts'
import type { FieldDefinition } from '../field-definition.ts'
import { optionsOf } from '../fields/rules.ts'

export type Schema = { readonly [keyword: string]: unknown }

/** Spec/entity-api.md 3.0: keys of rates and taxes, names of plans and services. */
const PATTERNS = { key: '^[A-Z0-9_]+$', path: '^[^$.][^.]*$' } as const

/** What requests take as a date; a component. */
export const DATE_SCHEMA: Schema = {
  title: 'date',
  anyOf: [
    { type: 'string', description: 'YYYY-MM-DD, YYYY-MM-DD HH:MM:SS or ISO 8601' },
    { type: 'object', properties: { sec: { type: 'integer' }, usec: { type: 'integer' } } },
  ],
}

const DATE: Schema = { $ref: '#/components/schemas/dateGiven' }

const SCALARS: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  float: { type: 'number' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  datetime: DATE,
  dbid: { type: 'string', pattern: '^[0-9a-fA-F]{24}$' },
  email: { type: 'string', format: 'email' },
  generated: { description: 'Made by the node; what is sent is not looked at.' },
  json: { description: 'Any JSON value.' },
}

const OPERATORS: Schema = {
  type: 'object',
  description: 'Operators of a filter, such as {"$in": [...]} or {"$regex": "^A"}',
}

/** In `query` a list stands for any of its members; operators may stand there, too. */
export function paramSchema(param: Param, part: 'query' | 'update'): Schema {
  const more = {
    ...(param.options !== undefined && { enum: param.options }),
    ...(param.pattern !== undefined && { pattern: PATTERNS[param.pattern] }),
    ...(param.description !== undefined && { description: param.description }),
  }
  if (param.type === 'datetimearray') {
    const dates = { type: 'object', additionalProperties: DATE }
    return { ...dates, description: 'Operators with dates: {"$gte": "2026-01-01"}' }
  }
  if (param.type !== 'array') return { ...SCALARS[param.type], ...more }
  const member = SCALARS[param.of ?? 'json'] ?? {}
  const list = { type: 'array', ...(param.of !== undefined && { items: member }) }
  if (part === 'query') return { anyOf: [member, list, OPERATORS], ...more }
  return { anyOf: param.of === undefined ? [list, { type: 'object' }] : [list, member], ...more }
}

const FIELD_TYPES: Readonly<Record<string, Schema>> = {
  text: { type: 'string' },
  textarea: { type: 'string' },
  integer: { type: 'integer' },
  decimal: { type: ['number', 'string'], description: 'A decimal; as a text it stays exact.' },
  boolean: { type: 'boolean' },
  date: DATE,
  datetime: DATE,
  daterange: { type: 'object', properties: { from: DATE, to: DATE } },
  select: { type: 'string' },
  email: { type: 'string', format: 'email' },
  percentage: { type: ['number', 'string'], description: 'A fraction, or a text such as 12%.' },
  json: {},
}

export function fieldSchema(field: FieldDefinition): Schema {
  const options = optionsOf(field)
  const { title, description, default_value: fallback } = field
  const one: Schema = {
    ...FIELD_TYPES[field.type ?? 'json'],
    ...(options !== null && { enum: [...options] }),
  }
  return {
    ...(field.multiple === true ? { type: 'array', items: one } : one),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
  }
}

function objectOf(properties: Record<string, Schema>, required: readonly string[], more: Schema) {
  const sorted = Object.fromEntries(Object.entries(properties))
  return {
    type: 'object',
    properties: sorted,
    ...(required.length > 0 && { required }),
    ...more,
  }
}

function declared(params: Params, part: 'query' | 'update') {
  const entries = Object.entries(params)
  const properties = entries.map(([name, param]) => [name, paramSchema(param, part)] as const)
  const required = entries.filter(([, { mandatory }]) => mandatory).map(([name]) => name)
  return { properties: Object.fromEntries(properties), required }
}

/** Of a read: declared and searchable fields; of a write: what addresses its revision. */
export function querySchema(action: ActionDefinition, fields: readonly FieldDefinition[]): Schema {
  const { properties, required } = declared(action.query, 'query')
  const searched = action.customFields && action.target === 'none' ? fields : []
  for (const field of searched) {
    if (field.searchable !== true || Object.hasOwn(properties, field.field_name)) continue
    const { title } = field
    const schema = paramSchema({ type: 'array', of: 'string' }, 'query')
    properties[field.field_name] = { ...schema, ...(title !== undefined && { title }) }
  }
  return objectOf(properties, required, { additionalProperties: false })
}

/** Declared and configured fields. `isCreate`: mandatory ones are demanded. */
export function updateSchema(
  action: ActionDefinition,
  fields: readonly FieldDefinition[],
  isCreate: boolean,
): Schema {
  const { properties, required } = declared(action.update, 'update')
  const demanded = new Set(required)
  for (const field of action.customFields ? fields : []) {
    const { field_name: name } = field
    if (field.generated === true) continue
    const isOwn = !Object.hasOwn(properties, name)
    const isFixed = field.editable === false && !isCreate
    if (isOwn && !isFixed) properties[name] = fieldSchema(field)
    const isDemanded = isCreate && field.mandatory === true && field.default_value === undefined
    if (isDemanded) demanded.add(name)
  }
  return objectOf(properties, [...demanded], {
    description: 'What is not named here is not taken.',
  })
}

/** A document as answers show it: all fields that may be written, without those that are hidden. */
export function entitySchema(
  { actions, hidden }: CollectionDefinition,
  fields: readonly FieldDefinition[],
): Schema {
  const written = { ...actions.update?.update, ...actions.create?.update }
  const names = [...Object.keys(written), ...fields.map(({ field_name }) => field_name)]
  const properties: Record<string, Schema> = {
    _id: { $ref: '#/components/schemas/id' },
    from: { $ref: '#/components/schemas/date' },
    to: { $ref: '#/components/schemas/date' },
    creation_time: { $ref: '#/components/schemas/date' },
  }
  for (const name of names) if (!hidden.includes(name)) properties[name] ??= {}
  return objectOf(properties, [], { additionalProperties: true })
}
