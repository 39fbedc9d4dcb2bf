/** JSON schemas of requests and responses, generated from the definitions. */
import {
  date,
  either,
  flag,
  listOf,
  number,
  object,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import { dottedNamePattern } from '../../entities/definitions/collections.ts'
import type {
  ActionDefinition,
  ActionName,
  CollectionDefinition,
  FieldDocs,
} from '../../entities/definitions/definition.ts'
import type { FieldDefinition } from '../../entities/fields/field-definition.ts'
import { optionsOf } from '../../entities/fields/rules.ts'
import type { Param } from '../../requests/param.ts'
import { IMPORT_FIELDS } from './import-fields.ts'

/** `key`: keys of rates and taxes, names of plans and services. */
const PATTERNS = { key: '^[A-Z0-9_]+$', path: '^[^$.][^.]*$' } as const

export const READS: ReadonlySet<ActionName> = new Set(['get', 'uniqueget', 'export'])

const COMMON_DOCS: CollectionDefinition['docs'] = {
  _id: { request: ref('idGiven', 'Id of the document.') },
  effective_date: {
    request: date('With the key: a date at which the addressed revision is valid.'),
  },
}

/** Undefined if the field has no description. */
function fieldDocs({ docs }: CollectionDefinition, field: string): FieldDocs | undefined {
  if (Object.hasOwn(docs, field)) return docs[field]
  return Object.hasOwn(COMMON_DOCS, field) ? COMMON_DOCS[field] : undefined
}

/** One action of a collection, with its configured fields. */
export interface ActionContext {
  readonly definition: CollectionDefinition
  readonly name: ActionName
  readonly action: ActionDefinition
  readonly fields: readonly FieldDefinition[]
}

/** Schema of the type of a declared parameter; null if only its description determines it. */
function typeSchema({ type }: Param): Schema | null {
  switch (type) {
    case 'string':
      return { type: 'string' }
    case 'integer':
      return { type: 'integer' }
    case 'float':
    case 'number':
      return { type: 'number' }
    case 'boolean':
      return { type: 'boolean' }
    case 'email':
      return { type: 'string', format: 'email' }
    case 'datetime':
      return ref('dateGiven')
    case 'dbid':
      return ref('idGiven')
    default:
      return null
  }
}

/** Schema of a declared field of `update`, with its description. */
function paramSchema(definition: CollectionDefinition, name: string, param: Param): Schema {
  const docs = fieldDocs(definition, name)?.request
  const own = typeSchema(param)
  return {
    ...(own ?? docs),
    ...(docs?.['description'] !== undefined && { description: docs['description'] }),
    ...(param.description !== undefined && { description: param.description }),
    ...(param.options !== undefined && { enum: param.options }),
    ...(param.pattern !== undefined && { pattern: PATTERNS[param.pattern] }),
  }
}

const FILTERS: Readonly<Record<string, string>> = {
  string: 'textFilter',
  email: 'textFilter',
  integer: 'integerFilter',
  number: 'numberFilter',
  float: 'numberFilter',
  boolean: 'booleanFilter',
  datetime: 'momentFilter',
  datetimearray: 'dateFilter',
  dbid: 'idFilter',
}

/** Schema of the filter on a field of `query`. */
function filterSchema(definition: CollectionDefinition, name: string, param: Param): Schema {
  const docs = fieldDocs(definition, name)?.request
  const type = param.type === 'array' ? (param.of ?? String(docs?.['type'])) : param.type
  const description = docs?.['description']
  const what = typeof description === 'string' ? description : undefined
  return ref(FILTERS[type] ?? 'valueFilter', what)
}

const FIELD_TYPES: Readonly<Record<string, Schema>> = {
  text: { type: 'string' },
  textarea: { type: 'string' },
  integer: { type: 'integer' },
  decimal: ref('amount'),
  boolean: { type: 'boolean' },
  date: ref('dateGiven'),
  datetime: ref('dateGiven'),
  daterange: object(
    'A period.',
    { from: date('Start of the period.'), to: date('End of the period.') },
    ['from', 'to'],
  ),
  select: { type: 'string' },
  email: { type: 'string', format: 'email' },
  percentage: ref('amount'),
}

function defaultOf(value: unknown): string {
  return `Default: ${typeof value === 'string' ? value : JSON.stringify(value)}.`
}

/** Schema of a configured field; built-in fields have additional descriptions. */
export function fieldSchema(definition: CollectionDefinition, field: FieldDefinition): Schema {
  const options = optionsOf(field)
  const { field_name: name, title, description, default_value: fallback } = field
  const docs = fieldDocs(definition, name)?.request
  const one: Schema = {
    ...(FIELD_TYPES[field.type ?? ''] ?? docs ?? ref('jsonValue')),
    ...(options !== null && { enum: [...options] }),
  }
  const isList = field.multiple === true && one['type'] !== 'array'
  const baseDescription =
    description ?? docs?.['description'] ?? `${title ?? `Configured field ${name}`}.`
  return {
    ...(isList ? { type: 'array', items: { description: 'A member.', ...one } } : one),
    ...(title !== undefined && { title }),
    // Not the keyword `default`: many generators make fields with a default required.
    description:
      fallback === undefined ? baseDescription : `${baseDescription} ${defaultOf(fallback)}`,
  }
}

/** For reads: declared and searchable fields; for writes: the fields that address a revision. */
export function querySchema({ definition, name, action, fields }: ActionContext): Schema {
  const { name: collection } = definition
  const isRead = READS.has(name) || name === 'resend'
  const schemaOf = (field: string, param: Param) =>
    isRead ? filterSchema(definition, field, param) : paramSchema(definition, field, param)
  const entries = Object.entries(action.query)
  const properties = Object.fromEntries(entries.map(([field, p]) => [field, schemaOf(field, p)]))
  const required = entries.filter(([, { mandatory }]) => mandatory).map(([field]) => field)
  for (const field of action.customFields || action.target === 'unique' ? fields : []) {
    const isQueryable = isRead ? field.searchable === true : field.unique === true
    if (!isQueryable || Object.hasOwn(properties, field.field_name)) continue
    const { title, description = `${title ?? `Configured field ${field.field_name}`}.` } = field
    const filter = FILTERS[field.type ?? 'string'] ?? 'textFilter'
    properties[field.field_name] = ref(field.type === 'date' ? 'dateFilter' : filter, description)
  }
  const id = `${collection}.${name}.query`
  const more = isRead ? alternatives(id) : {}
  const what = isRead ? 'Filter for documents.' : 'Address of the revision.'
  const patterns = patternsOf(collection, name, 'query')
  return {
    ...object(what, { ...properties, ...more }, required),
    ...(patterns !== null && { patternProperties: patterns }),
    additionalProperties: false,
  }
}

function alternatives(id: string): Readonly<Record<string, Schema>> {
  return {
    $and: listOf(ref(id), 'All must be met.'),
    $or: listOf(ref(id), 'At least one must be met.'),
  }
}

/** Schemas of fields that are declared by a name pattern. */
function patternsOf(collection: string, name: ActionName, part: 'query' | 'update') {
  const form = dottedNamePattern(collection, name, part)
  if (form === null) return null
  const schema =
    part === 'query'
      ? ref('valueFilter', 'Whether there are prices for this usage type.')
      : ref('ratePrice', 'Prices of this rate; those of other rates are kept.')
  return { [form.source]: schema }
}

/** Declared and configured fields; on create, the mandatory ones are required. */
export function updateSchema(context: ActionContext): Schema {
  const { definition, name, action, fields } = context
  const { name: collection } = definition
  const isCreate = name === 'create'
  const accepted = Object.entries(action.update).filter(([, { type }]) => type !== 'generated')
  const properties: Record<string, Schema> = Object.fromEntries(
    accepted.map(([field, param]) => [
      field,
      name === 'import' ? (IMPORT_FIELDS[field] ?? {}) : paramSchema(definition, field, param),
    ]),
  )
  const required = new Set(
    accepted.filter(([, { mandatory }]) => mandatory).map(([field]) => field),
  )
  for (const field of action.customFields ? fields : []) {
    const { field_name: own } = field
    if (field.generated === true) continue
    const isFixed = field.editable === false && !isCreate
    if (!Object.hasOwn(action.update, own) && !isFixed) {
      properties[own] = fieldSchema(definition, field)
    }
    const isPlain = field.default_value === undefined && (field.plays ?? []).length === 0
    if (isCreate && field.mandatory === true && isPlain) required.add(own)
  }
  const patterns = patternsOf(collection, name, 'update')
  return {
    ...object('Undeclared fields are ignored and listed in `warnings`.', properties, [...required]),
    ...(patterns !== null && { patternProperties: patterns }),
  }
}

/** Fields of stored documents, with the schemas of requests. */
export function storedFields(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
): Readonly<Record<string, Schema>> {
  const { record, actions, docs, hidden } = definition
  const stored: Record<string, Schema> = {
    _id: ref('idGiven', 'Id of the document.'),
    from: date('Start of the revision.'),
    to: date('End of the revision.'),
    creation_time: date('When the entity was created.'),
  }
  const declared = { ...actions.update?.update, ...actions.create?.update }
  for (const own of fields) stored[own.field_name] = storedField(definition, own)
  for (const [own, param] of Object.entries(declared)) {
    if (record !== undefined || own.includes('.')) continue
    stored[own] =
      param.type === 'generated'
        ? keyOf(definition, own)
        : storedParamSchema(definition, own, param)
  }
  for (const [own, { request, stored: inDocuments }] of Object.entries(docs)) {
    if (record !== undefined || inDocuments === null) continue
    stored[own] ??= inDocuments ?? request
  }
  const all = { ...stored, ...record }
  return Object.fromEntries(Object.entries(all).filter(([own]) => !hidden.includes(own)))
}

function keyOf(definition: CollectionDefinition, field: string): Schema {
  return fieldDocs(definition, field)?.request ?? {}
}

function storedField(definition: CollectionDefinition, field: FieldDefinition): Schema {
  const stored = fieldDocs(definition, field.field_name)?.stored
  return stored ?? fieldSchema(definition, field)
}

function storedParamSchema(definition: CollectionDefinition, field: string, param: Param): Schema {
  const docs = fieldDocs(definition, field)
  return docs?.stored ?? paramSchema(definition, field, { ...param, mandatory: true })
}

const BEGINS_LATER =
  'Whether it begins at or after the end of the last confirmed cycle of its customer or, without ' +
  'one, of all'

/** `revision_info` in responses to reads. */
export const REVISION_INFO: Schema = object('State of the revision, and what may be changed.', {
  status: {
    type: 'string',
    enum: ['active', 'future', 'expired'],
    description: 'Current state of the revision.',
  },
  is_last: flag('Whether it is the last revision.'),
  early_expiration: flag('Whether the entity is closed: it ends within ten years.'),
  updatable: flag(`${BEGINS_LATER}. \`update\` needs only \`movable_to\`.`),
  closeandnewable: flag(`As \`updatable\`. \`closeandnew\` needs only \`movable_to\`.`),
  movable: flag('As `updatable`: whether `move` of its begin is allowed.'),
  removable: flag('As `updatable`: whether `delete` is allowed.'),
  movable_from: flag('As `updatable`: whether its begin may be moved.'),
  movable_to: flag(
    'Whether it ends at or after the end of the last confirmed cycle. Then its end may be moved, ' +
      '`update` is allowed, and `closeandnew` from the end of that cycle on.',
  ),
  version: text('Its version, for `If-Match`: it changes with each write of the revision.'),
})

const comparisonOperators = (value: Schema): Readonly<Record<string, Schema>> => ({
  $eq: { ...value, description: 'Equal.' },
  $ne: { ...value, description: 'Not equal.' },
  $gt: { ...value, description: 'Above.' },
  $gte: { ...value, description: 'Above or equal.' },
  $lt: { ...value, description: 'Below.' },
  $lte: { ...value, description: 'Below or equal.' },
  $in: listOf(value, 'One of them.'),
  $nin: listOf(value, 'None of them.'),
  $all: listOf(value, 'A list that contains all of them.'),
  $exists: flag('Whether there is a value.'),
})

const LISTS: Readonly<Record<string, Schema>> = {
  $size: { type: 'integer', description: 'A list with this number of members.' },
  $elemMatch: {
    ...object('A member of the list that matches.', {}),
    additionalProperties: ref('jsonValue', 'A condition on it.'),
  },
}

/** Operators accept null, which matches documents without a value. */
const orNull = (value: Schema): Schema => {
  const { type } = value
  return typeof type === 'string' ? { ...value, type: [type, 'null'] } : value
}

function filterOf(kind: string, value: Schema, more: Readonly<Record<string, Schema>> = {}) {
  const compared = comparisonOperators(orNull(value))
  const operators = {
    ...object('Operators; all must match.', { ...compared, ...more }),
    additionalProperties: false,
  }
  const one = { ...value, description: 'Equal, or a member of the list.' }
  const listed = ref(`${kind}Values`)
  return {
    [`${kind}Filter`]: {
      description: 'A value, a list of which one must match, or operators.',
      anyOf: [one, listed, ref(`${kind}Operators`)],
      examples: [{ $exists: true }],
    },
    [`${kind}Values`]: listOf(value, 'One of them.'),
    [`${kind}Operators`]: operators,
  }
}

const NEGATED = (kind: string) => ({ $not: ref(`${kind}Operators`, 'The operators do not match.') })

/** Components of filters on fields of `query`, by type. */
export const FILTER_COMPOUNDS: Readonly<Record<string, Schema>> = {
  ...filterOf('text', text('A text.'), {
    $regex: text('A regular expression of up to 256 characters.'),
    $options: text('Flags of the regular expression: `i`, `m`, `s`.'),
    ...LISTS,
    ...NEGATED('text'),
  }),
  ...filterOf('integer', { type: 'integer', description: 'An integer.' }, NEGATED('integer')),
  ...filterOf('number', number('A number.'), NEGATED('number')),
  ...filterOf('boolean', flag('True or false.'), NEGATED('boolean')),
  ...filterOf('id', ref('idGiven', 'An id.'), NEGATED('id')),
  ...filterOf('value', ref('comparedValue', 'A value.'), { ...LISTS, ...NEGATED('value') }),
  momentFilter: either('A date, or operators with dates.', ref('dateGiven'), ref('dateFilter')),
  dateFilter: {
    ...object('Operators with dates.', {
      ...comparisonOperators(ref('dateGiven', 'A date.')),
      $not: ref('dateFilter', 'The operators do not match.'),
    }),
    additionalProperties: false,
    examples: [{ $gte: '2026-01-01' }],
  },
}
