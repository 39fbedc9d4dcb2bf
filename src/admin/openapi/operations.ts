/** One operation for each action of a collection: POST, and GET for reads. */
import { choice, object, ref, type Schema } from '../../catalog/entities/json-schema.ts'
import { IMPORT_OPERATIONS } from '../../entities/definitions/collections.ts'
import {
  type ActionName,
  type CollectionDefinition,
  isVersioned,
} from '../../entities/definitions/definition.ts'
import { hasTrait } from '../../entities/definitions/traits.ts'
import { OPERATION_ID_LENGTH_MAX } from '../http/idempotency-key.ts'
import { responsesOf } from './answers.ts'
import { IF_MATCH, idempotencyKeySchema, optionSchema } from './components.ts'
import { response } from './errors.ts'
import { exampleOf } from './examples.ts'
import { IMPORT_OPTIONS } from './import-fields.ts'
import { bodyOf, inAddress } from './request-parts.ts'
import { curlSample, type Sample } from './samples.ts'
import { type ActionContext, querySchema, READS, updateSchema } from './schemas.ts'

export interface CodeSample {
  readonly lang: 'Shell'
  readonly label: string
  readonly source: string
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly deprecated?: boolean
  /** The caller needs one of these roles; `admin` is always sufficient. */
  readonly 'x-roles'?: readonly string[]
  /** Command lines of curl with credentials. */
  readonly 'x-codeSamples': readonly CodeSample[]
  /** Absent to use the default; empty if authentication is not required. */
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
  update: 'Change a revision in place',
  close: 'End a revision',
  closeandnew: 'End a revision and start a new one with changes',
  reopen: 'Start a new revision of an entity that has ended',
  delete: 'Delete a revision',
  move: 'Move the start or the end of a revision',
  permanentchange: 'Change an entity from a date on, including all later revisions',
  import: 'Create or change entities from the rows of a file',
  export: 'Download entities as rows of a file',
  erase: 'Remove personal data from an entity and from all its records, as a job',
  resend: 'Send the selected events again',
}

/** Parameters of an action other than `query` and `update`. */
function optionsOf(definition: CollectionDefinition, name: ActionName): readonly string[] {
  if (name === 'get') return ['options', 'page', 'size', 'sort', 'project']
  if (name === 'uniqueget') return ['options', 'page', 'size', 'sort', 'project', 'states']
  if (name === 'export') return ['options', 'states', 'file_name', 'delimiter', 'format']
  if (name === 'import' || name === 'erase' || name === 'resend') return []
  if (hasTrait(definition, 'writesLine')) return name === 'update' ? ['additional'] : ['options']
  return ['options', 'validate']
}

/** The operations of an action and the schemas that they reference. */
export function operationsOf(
  context: ActionContext,
  baseUrl: string,
): { item: PathItem; schemas: Record<string, Schema> } {
  const { definition, name, action } = context
  const { name: collection } = definition
  const id = `${collection}.${name}`
  const hasUpdate = !READS.has(name) && name !== 'delete' && name !== 'resend'
  const schemas: Record<string, Schema> = {
    ...(name !== 'create' && name !== 'import' && { [`${id}.query`]: querySchema(context) }),
    ...(hasUpdate && { [`${id}.update`]: updateSchema(context) }),
  }
  const parts: Record<string, Schema> = Object.fromEntries([
    ...Object.keys(schemas).map((schema) => [partOf(schema), ref(schema)] as const),
    ...optionsOf(definition, name).map((each) => [each, optionSchema(each)] as const),
  ])
  const shared = {
    tags: [collection],
    summary: SUMMARIES[name],
    description: describe(context),
    'x-roles': [...new Set([...action.roles, 'admin'])],
  }
  const responses = responsesOf(definition, name)
  const path = `/billapi/${collection}/${name}`
  const isMovement = hasTrait(definition, 'writesLine') && !READS.has(name)
  const headers = isMovement ? ['Idempotency-Key: top-up-4711'] : []
  const example = exampleOf(collection, name)
  const sent: Partial<Sample> =
    name === 'import'
      ? { parts: ['files[0]=@rows.csv', `update=${JSON.stringify(example['update'])}`] }
      : { json: example }
  const post = {
    operationId: `${id}.post`,
    ...shared,
    ...codeSamples({ method: 'POST', path, baseUrl, headers, ...sent }),
    ...(isMovement && { parameters: [idempotencyKeySchema(OPERATION_ID_LENGTH_MAX)] }),
    ...(isVersioned(definition, name) && { parameters: [IF_MATCH] }),
    requestBody:
      name === 'import'
        ? importBody(context, parts)
        : bodyOf({ parameters: parts, required: requiredParts(name, action.target), example }),
    responses,
  }
  if (!READS.has(name)) return { item: { post }, schemas }
  const query = example
  const get = {
    operationId: `${id}.get`,
    ...shared,
    ...codeSamples({ method: 'GET', path, baseUrl, query }),
    parameters: Object.entries(parts).map(([part, schema]) =>
      inAddress(part, schema, query[part] ?? EMPTY[part]),
    ),
    responses: { ...responses, '405': response('badMethod') },
  }
  return { item: { get, post }, schemas }
}

function partOf(schema: string): string {
  return schema.slice(schema.lastIndexOf('.') + 1)
}

/** Examples of parameters that are not in the example of the request. */
const EMPTY: Readonly<Record<string, unknown>> = {
  options: { or_fields: [] },
  sort: { from: 1 },
  project: { from: 1, to: 1 },
  states: [0, 1],
  file_name: 'export',
  delimiter: ';',
}

export function codeSamples(sample: Sample): Pick<Operation, 'x-codeSamples'> {
  const label = sample.credentials === undefined ? 'curl, with an access token' : 'curl'
  return { 'x-codeSamples': [{ lang: 'Shell', label, source: curlSample(sample) }] }
}

function describe({ definition, name, action }: ActionContext): string {
  const key = `${definition.keyField} and effective_date`
  const targets = {
    id: 'Addresses its revision by `_id`.',
    unique: `Addresses its revision by \`_id\`, or by ${key}.`,
    none: '',
  } as const
  const roles = [...new Set([...action.roles, 'admin'])].join(', ')
  const parts = [`${SUMMARIES[name]}.`, targets[action.target], `Needs one of the roles ${roles}.`]
  return parts.filter((part) => part !== '').join(' ')
}

/** Parameters without which nothing is addressed or stored. */
function requiredParts(name: ActionName, target: 'id' | 'unique' | 'none'): readonly string[] {
  if (READS.has(name)) return []
  if (name === 'create') return ['update']
  if (name === 'delete' || name === 'close') return ['query']
  return target === 'id' || target === 'unique' ? ['query', 'update'] : ['query']
}

function importBody({ definition }: ActionContext, parts: Record<string, Schema>): Schema {
  const operations = IMPORT_OPERATIONS.get(definition.name) ?? []
  const usual = `Operation for each row; \`${operations[0]}\` by default.`
  const schema = object('The file and the settings of the import.', {
    ...parts,
    operation: choice(operations, usual),
    ...IMPORT_OPTIONS,
  })
  const encoding = { update: { contentType: 'application/json' } }
  const { update } = exampleOf(definition.name, 'import')
  const example = { update, operation: operations[0], 'files[0]': 'a,b\n1,2\n' }
  const description = 'The file and the settings of the import.'
  const content = { 'multipart/form-data': { schema, encoding, example } }
  return { description, required: true, content }
}
