/** OpenAPI operations of the actions, generated from their declarations. */
import { type TSchema, TypeGuard } from '@sinclair/typebox'
import {
  customFields,
  either,
  type Members,
  object,
  ref,
  refName,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import { ADMIN } from '../../identity/caller.ts'
import { type Action, IDEMPOTENCY_KEY_LENGTH_MAX, pathsOf } from '../actions/action.ts'
import { type Deprecation, deprecationOf } from '../actions/deprecated/deprecations.ts'
import { envelopeOf } from '../actions/envelope.ts'
import { DONE } from '../http/answer-schema.ts'
import { idempotencyKeySchema, WARNINGS } from './components.ts'
import { content, ERROR_EXAMPLES, response } from './errors.ts'
import { codeSamples, type Operation, type PathItem } from './operations.ts'
import { bodyOf, inAddress } from './request-parts.ts'

export const ACTION_TAG = { name: 'actions', description: 'One-off operations' } as const

/** By path. `baseUrl`: base URL of the node for the examples. */
export function actionPaths(
  actions: readonly Action[],
  baseUrl: string,
): Readonly<Record<string, PathItem>> {
  return Object.fromEntries(
    actions.flatMap((action) =>
      pathsOf(action).map((path) => [path, pathItemOf(action, path, baseUrl)]),
    ),
  )
}

function pathItemOf(action: Action, path: string, baseUrl: string): PathItem {
  const { isMoney, isReadByGet, example } = action
  const properties = plain(action.parameters.properties)
  const required = [...(action.parameters.required ?? [])]
  const id = path.slice(1).replaceAll('/', '.')
  const headers = isMoney ? ['Idempotency-Key: 20260301-4711'] : []
  const post: Operation = {
    operationId: `${id}.post`,
    ...sharedParts(action),
    ...codeSamples({ method: 'POST', path, baseUrl, headers, json: example.parameters }),
    ...(isMoney && { parameters: [idempotencyKeySchema(IDEMPOTENCY_KEY_LENGTH_MAX)] }),
    requestBody: bodyOf({ parameters: properties, required, example: example.parameters }),
    responses: responsesOf(action),
  }
  if (isReadByGet !== true) return { post }
  const get: Operation = {
    operationId: `${id}.get`,
    ...sharedParts(action),
    ...codeSamples({ method: 'GET', path, baseUrl, query: example.parameters }),
    parameters: Object.entries(properties).map(([parameter, schema]) =>
      inAddress(parameter, schema, example.parameters[parameter] ?? exampleOf(schema)),
    ),
    responses: responsesOf(action),
  }
  return { get, post }
}

function sharedParts(action: Action) {
  const { about, access } = action
  const roles = [...new Set([...access, ADMIN])]
  const deprecation = deprecationOf(action)
  const more = deprecation === null ? '' : ` ${deprecationText(deprecation)}`
  return {
    tags: [ACTION_TAG.name],
    summary: about,
    description: `${about}. Needs one of the roles ${roles.join(', ')}.${more}`,
    'x-roles': roles,
    ...(deprecation !== null && deprecation.selectedBy === undefined && { deprecated: true }),
  } as const
}

function deprecationText({ since, successors, selectedBy }: Deprecation): string {
  const what = selectedBy === undefined ? 'Deprecated' : `With \`${selectedBy}\` deprecated`
  return `${what} since version ${since}: use ${successors.join(', ')}.`
}

/** Drops the symbols of TypeBox. */
const plain = (members: Members) => JSON.parse(JSON.stringify(members)) as Members

function exampleOf(schema: Schema): unknown {
  const { type, enum: values, anyOf } = schema
  if (Array.isArray(values)) return values[0]
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0])
  if (refName(schema) === 'dateGiven') return '2026-03-01'
  if (type === 'array') return []
  if (type === 'object' || refName(schema) === 'customFields') return {}
  if (type === 'boolean') return true
  return type === 'integer' || refName(schema) === 'amount' ? 1 : '1'
}

const REFUSED = ['actionError', 'fieldsError', 'permissionError', 'loginError'] as const

function responsesOf(action: Action): Record<string, Schema> {
  const { answer, example, isMoney, isReadByGet, writesByGet, files = [] } = action
  const refused = action.entityActions === undefined ? REFUSED : [...REFUSED, 'targetError']
  const required = Object.entries(answer).flatMap(([name, each]) =>
    TypeGuard.IsOptional(each as TSchema) ? [] : [name],
  )
  const schema = object(
    'The answer.',
    {
      status: answer['status'] ?? DONE,
      desc: answer['desc'] ?? text('`success`.'),
      input: customFields('The parameters of the call, without credentials.'),
      ...(answer['status'] !== undefined && { errors: ref('errors') }),
      warnings: WARNINGS,
      ...plain(answer),
    },
    [...new Set(['status', 'desc', 'input', ...required])],
  )
  const done = envelopeOf(action, new Map(Object.entries(example.parameters)), example.answer)
  const errors = Object.fromEntries(refused.map((name) => [name, ERROR_EXAMPLES[name]]))
  const whole = either('The answer, or an error.', schema, ...refused.map((name) => ref(name)))
  const { content: json } = content(whole, { done, ...errors })
  const file = {
    schema: { type: 'string', format: 'binary', description: 'The file.' },
    examples: { file: { value: 'The bytes of the file.' } },
  }
  const byType = Object.fromEntries(files.map((mediaType) => [mediaType, file]))
  return {
    '200': { description: 'The answer.', content: { ...(json as object), ...byType } },
    '400': response('unreadable'),
    '401': response('badToken'),
    '403': response('forbidden'),
    ...((isReadByGet !== true || writesByGet === true) && { '405': response('badMethod') }),
    '413': response('tooLarge'),
    '415': response('badType'),
    ...(isMoney && { '500': response('failed') }),
    '503': response('unavailable'),
  }
}
