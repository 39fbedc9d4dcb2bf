/** Schemas and examples of successful responses. */
import {
  closed,
  constant,
  either,
  flag,
  integer,
  listOf,
  orNull,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import {
  type ActionName,
  type CollectionDefinition,
  isRecord,
  isVersioned,
} from '../../entities/definitions/definition.ts'
import { hasTrait } from '../../entities/definitions/traits.ts'
import { VersionConflictError } from '../../requests/errors.ts'
import { ENTITY_TAG, NOTHING, readAnswer, writeAnswer } from './components.ts'
import { content, ERROR_EXAMPLES, failed, response } from './errors.ts'
import { responseExample, writeResponseExample } from './examples.ts'
import type { ResponseKind } from './response-schemas.ts'
import { READS } from './schemas.ts'

/** Name of the component for documents in responses. */
export function entityName(collection: string, responseKind: ResponseKind): string {
  return responseKind === 'read' ? `${collection}.entity` : `${collection}.written`
}

const REFUSED = {
  read: ['ruleError', 'fieldsError', 'permissionError', 'loginError'],
  write: ['ruleError', 'fieldsError', 'permissionError', 'loginError', 'targetError'],
  file: ['permissionError', 'loginError', 'executionError'],
} as const

const OWN_STATUS = {
  '400': 'unreadable',
  '401': 'badToken',
  '403': 'forbidden',
  '413': 'tooLarge',
  '415': 'badType',
  '500': 'failed',
  '503': 'unavailable',
} as const

/** All responses of an action. */
export function responsesOf(definition: CollectionDefinition, name: ActionName) {
  const statuses = Object.entries(OWN_STATUS).map(([status, each]) => [status, response(each)])
  const conflict = isVersioned(definition, name) ? { '409': conflictOf(definition) } : {}
  return { '200': doneOf(definition, name), ...Object.fromEntries(statuses), ...conflict }
}

/** The revision has another version than `If-Match` demands. */
function conflictOf(definition: CollectionDefinition): Schema {
  const entity = ref(entityName(definition.name, 'read'))
  const message = text('That it was changed or deleted, and its present version.')
  const schema = failed('The revision has another version than `If-Match` names.', {
    code: constant(409, 'The HTTP status.'),
    data: closed('The error.', { message }),
    entity: orNull(entity, 'The present revision; null if it was deleted.'),
  })
  const message409 = `${definition.name}: the revision has been changed meanwhile`
  const shown = responseExample(definition, 'read')
  const example = new VersionConflictError(message409, shown, {}).body()
  const description = 'Another write came first: nothing was written.'
  return { description, headers: ENTITY_TAG, ...content(schema, { conflict: example }) }
}

function doneOf(definition: CollectionDefinition, name: ActionName): Schema {
  const kind = name === 'export' || name === 'import' ? 'file' : READS.has(name) ? 'read' : 'write'
  const errors = Object.fromEntries(REFUSED[kind].map((each) => [each, ERROR_EXAMPLES[each]]))
  if (name === 'export') return exported(errors)
  const { done, example } = successOf(definition, name)
  const schema = either('The result, or with `status` 0 the error.', ...done, ref('entityError'))
  const description = 'Success; or, with `status` 0, an error that the caller can fix.'
  const headers = !isRecord(definition) && kind !== 'file' ? { headers: ENTITY_TAG } : {}
  return { description, ...headers, ...content(schema, { done: example, ...errors }) }
}

/** The file, or a JSON error if the export fails before the first row. */
function exported(errors: Readonly<Record<string, unknown>>): Schema {
  const rows = text('The rows, after a header line.')
  const csv = { rows: 'key,description\nCALL_LOCAL,Local calls\n' }
  const lines = { rows: '{"key":"CALL_LOCAL","description":"Local calls"}\n' }
  const files = [
    content(rows, csv, 'application/csv'),
    content(text('One document per line.'), lines, 'application/x-ndjson'),
    content(ref('entityError'), errors),
  ]
  const parts = files.map(({ content: part }) => part as object)
  return { description: 'The rows, or the error.', content: Object.assign({}, ...parts) }
}

function successOf(definition: CollectionDefinition, name: ActionName) {
  const { name: collection } = definition
  if (READS.has(name)) {
    const done = [readAnswer(ref(entityName(collection, 'read')))]
    const details = [responseExample(definition, 'read')]
    return { done, example: { status: 1, next_page: false, details } }
  }
  if (name === 'import') {
    const details = { 2: true, 3: 'lastname is mandatory' }
    const warnings = ['1 of 2 rows were not imported']
    const counts = { total: 2, succeeded: 1, failed: 1, import_id: 'customers-1' }
    const done = [ref('importAnswer'), ref('importProgress')]
    return { done, example: { status: 2, details, warnings, ...counts } }
  }
  const example = writeResponseExample(definition, name)
  return { done: [writeAnswer(entityOf(definition, name), moreOf(definition, name))], example }
}

/** For a prepaid group or card, the entity is a list of balances. */
function entityOf(definition: CollectionDefinition, name: ActionName): Schema {
  if (name === 'resend') return NOTHING
  if (name === 'erase') return ref(entityName('jobs', 'written'), 'The job that erases the data.')
  const entity = ref(entityName(definition.name, 'written'))
  if (!hasTrait(definition, 'writesLine') || name !== 'update') return entity
  const several = listOf(entity, 'The balances of a prepaid group or card.')
  return either('One balance, or the balances of a group.', entity, several)
}

function moreOf(
  definition: CollectionDefinition,
  name: ActionName,
): Readonly<Record<string, Schema>> {
  if (name === 'permanentchange') {
    return {
      totalUpdated: integer('Revisions that were changed.'),
      totalCreated: integer('Revisions that were added: 1 if a revision was split.'),
    }
  }
  if (name === 'resend') {
    return {
      resent: listOf(text('A stamp.'), 'Events that are sent again.'),
      left: listOf(text('A stamp.'), 'Events that are being sent: nothing is changed.'),
      more: flag('Whether more events are selected: 1,000 are sent again per call.'),
    }
  }
  if (!hasTrait(definition, 'writesLine')) return {}
  const line = ref(entityName('lines', 'written'))
  return { line: orNull(line, 'The record of the change.') }
}
