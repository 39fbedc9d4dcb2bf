/** One operation for each action of a collection, by GET for reads and by POST. */
import type { ActionDefinition, ActionName, CollectionDefinition } from '../definition.ts'
import { IMPORT_OPERATIONS } from '../definitions/collections.ts'
import type { FieldDefinition } from '../field-definition.ts'
import { IDEMPOTENCY_KEY, json, optionSchema, readAnswer, ref, writeAnswer } from './components.ts'
import { exampleOf } from './examples.ts'
import { querySchema, type Schema, updateSchema } from './schemas.ts'

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  /** Roles of which the caller needs one; `admin` always may. */
  readonly 'x-roles'?: readonly string[]
  /** Absent: as all others; empty: nobody has to authenticate. */
  readonly security?: readonly Schema[]
  readonly parameters?: readonly Schema[]
  readonly requestBody?: Schema
  readonly responses: Readonly<Record<string, Schema>>
}

export interface PathItem {
  readonly get?: Operation
  readonly post?: Operation
}

const SUMMARIES: Readonly<Record<ActionName, string>> = {
  get: 'Find documents, with all their revisions',
  uniqueget: 'Find entities, one revision of each',
  create: 'Create an entity',
  update: 'Change a revision where it stands',
  close: 'End a revision',
  closeandnew: 'End a revision, and begin a new one with changes',
  reopen: 'Begin a new revision of an entity that has ended',
  delete: 'Delete a revision',
  move: 'Move the begin or the end of a revision',
  permanentchange: 'Change an entity from a date on, with all later revisions',
  import: 'Create or change entities from the rows of a file',
  export: 'Download entities as rows of a file',
  erase: 'Remove personal data from an entity and from all that is recorded of it, as a job',
}

const READS: ReadonlySet<ActionName> = new Set(['get', 'uniqueget', 'export'])

/** What an action takes beside `query` and `update`. */
function optionsOf(collection: string, name: ActionName): readonly string[] {
  if (name === 'get') return ['options', 'page', 'size', 'sort', 'project']
  if (name === 'uniqueget') return ['options', 'page', 'size', 'sort', 'project', 'states']
  if (name === 'export') return ['options', 'states', 'file_name', 'delimiter']
  if (name === 'import' || name === 'erase') return []
  return collection === 'balances' && name === 'update' ? ['additional'] : ['options']
}

/** The operations of an action, and the schemas that they refer to. */
export function operationsOf(
  definition: CollectionDefinition,
  name: ActionName,
  action: ActionDefinition,
  fields: readonly FieldDefinition[],
): { item: PathItem; schemas: Record<string, Schema> } {
  const { name: collection } = definition
  const id = `${collection}.${name}`
  const hasUpdate = !READS.has(name) && name !== 'delete'
  const schemas: Record<string, Schema> = {
    ...(name !== 'create' && name !== 'import' && { [`${id}.query`]: querySchema(action, fields) }),
    ...(hasUpdate && { [`${id}.update`]: updateSchema(action, fields, name === 'create') }),
  }
  const parts: Record<string, Schema> = Object.fromEntries([
    ...Object.keys(schemas).map((schema) => [schema.split('.')[2] ?? '', ref(schema)] as const),
    ...optionsOf(collection, name).map((each) => [each, optionSchema(each)] as const),
  ])
  const shared = {
    tags: [collection],
    summary: SUMMARIES[name],
    description: describe(name, action),
    'x-roles': [...new Set([...action.roles, 'admin'])],
    responses: responsesOf(collection, name),
  }
  const headers = collection === 'balances' && hasUpdate ? { parameters: [IDEMPOTENCY_KEY] } : {}
  const requestBody =
    name === 'import' ? importBody(collection, parts) : body(collection, name, parts)
  const post = { operationId: `${id}.post`, ...shared, ...headers, requestBody }
  if (!READS.has(name)) return { item: { post }, schemas }
  const parameters = Object.entries(parts).map(([part, schema]) => inAddress(part, schema))
  return { item: { get: { operationId: `${id}.get`, ...shared, parameters }, post }, schemas }
}

function describe(name: ActionName, action: ActionDefinition): string {
  const targets = {
    id: 'Addresses its revision by `_id`.',
    unique: 'Addresses its revision by `_id`, or by the key and `effective_date`.',
    none: '',
  } as const
  const roles = [...new Set([...action.roles, 'admin'])].join(', ')
  const parts = [`${SUMMARIES[name]}.`, targets[action.target], `Needs one of the roles ${roles}.`]
  return parts.filter((part) => part !== '').join(' ')
}

function isPlain({ type }: Schema): boolean {
  return type === 'integer' || type === 'string'
}

/** Objects and lists are texts of JSON in an address. */
function inAddress(name: string, schema: Schema): Schema {
  const content = { 'application/json': { schema } }
  return { name, in: 'query', ...(isPlain(schema) ? { schema } : { content }) }
}

function body(collection: string, name: ActionName, parts: Record<string, Schema>): Schema {
  const schema = { type: 'object', properties: parts }
  const example = exampleOf(collection, name)
  const encoding = Object.fromEntries(
    Object.entries(parts)
      .filter(([, part]) => !isPlain(part))
      .map(([part]) => [part, { contentType: 'application/json' }]),
  )
  return {
    content: {
      'application/json': { schema, ...(example !== null && { example }) },
      'application/x-www-form-urlencoded': { schema, encoding },
      'multipart/form-data': { schema, encoding },
    },
  }
}

function importBody(collection: string, parts: Record<string, Schema>): Schema {
  const operations = IMPORT_OPERATIONS.get(collection) ?? []
  const schema = {
    type: 'object',
    properties: {
      ...parts,
      operation: { type: 'string', enum: operations, default: operations[0] },
      'files[0]': { type: 'string', format: 'binary', description: 'Rows, with a line of names.' },
    },
    required: ['files[0]'],
  }
  const encoding = { update: { contentType: 'application/json' } }
  return { required: true, content: { 'multipart/form-data': { schema, encoding } } }
}

function responsesOf(collection: string, name: ActionName): Record<string, Schema> {
  const failures = {
    '400': { $ref: '#/components/responses/unreadable' },
    '413': { $ref: '#/components/responses/unreadable' },
    '503': { $ref: '#/components/responses/unavailable' },
  }
  const done = { description: 'Done, or with `status` 0 what the caller can mend.' }
  if (name === 'export') {
    const content = { 'text/csv': { schema: { type: 'string' } } }
    return { '200': { description: 'The rows.', content }, ...failures }
  }
  return {
    '200': { ...done, ...json({ anyOf: [answerOf(collection, name), ref('error')] }) },
    ...failures,
  }
}

function answerOf(collection: string, name: ActionName): Schema {
  const entity = ref(`${collection}.entity`)
  if (READS.has(name)) return readAnswer(entity)
  if (name === 'import') return ref('importAnswer')
  const count = { type: 'integer' }
  if (name === 'permanentchange') {
    return writeAnswer(entity, { totalUpdated: count, totalCreated: count })
  }
  const isTopUp = collection === 'balances' && name === 'update'
  return isTopUp ? writeAnswer(entity, { line: ref('lines.entity') }) : writeAnswer(entity)
}
