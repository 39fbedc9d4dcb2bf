/** Paths of the endpoints outside the entity API: node, login, tokens and settings. */
import {
  anyValue,
  either,
  flag,
  integer,
  object,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import type { RouteAccess } from '../../identity/access.ts'
import { ADMIN } from '../../identity/caller.ts'
import {
  AUTH_ENDPOINTS,
  CLOCK_ENDPOINTS,
  type Endpoint,
  NODE_ENDPOINTS,
  PAYMENT_ENDPOINTS,
  REPORT_ENDPOINTS,
  SETTINGS_ENDPOINTS,
} from '../permissions/endpoints.ts'
import { content, ERROR_EXAMPLES, response } from './errors.ts'
import { LIVE_ANSWERS } from './live-docs.ts'
import { NODE_ANSWERS, type NodeAnswer, unavailableContent } from './node-answers.ts'
import { codeSamples, type Operation, type PathItem } from './operations.ts'
import { PAYMENT_ANSWERS, PAYMENT_REQUESTS } from './payment-docs.ts'
import { REPORT_ANSWERS, REPORT_REQUESTS } from './report-docs.ts'
import type { Sample } from './samples.ts'

interface NodeRequest {
  /** Parameters by name. */
  readonly parameters: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly example: Readonly<Record<string, unknown>>
  /** Arguments of curl that replace the access token. */
  readonly credentials?: readonly string[]
}

const CLIENT: Readonly<Record<string, Schema>> = {
  client_id: text('Name of the client, unless HTTP Basic is used.'),
  client_secret: text('Secret of the client, unless HTTP Basic is used.'),
}

const BASIC = ['-u "crm:$SECRET"'] as const
const NONE = [] as const

const SETTING: Readonly<Record<string, Schema>> = {
  category: text('Category, such as `security`, followed by the path unless that is in `path`.'),
  path: text('Names and indexes separated by dots.'),
  rev: text('Version to read or restore, or on which the change is based.'),
}

/** By method and path; endpoints without an entry have no parameters. */
const REQUESTS: Readonly<Record<string, NodeRequest>> = {
  'GET /api': {
    parameters: { simple: text('`1`: the response is the word SUCCESS or FAILED.') },
    example: { simple: '0' },
  },
  'GET /api/live/history': {
    parameters: { from: integer('Only values from this time on, in milliseconds since 1970.') },
    example: { from: 1_795_705_200_000 },
  },
  'POST /auth/login': {
    parameters: {
      username: text('Name of the user.'),
      password: text('Password of the user; never in the query string.'),
      protocol: text('`internal` (default), `ldap` or `saml`.'),
      provider: text('Name of a configured provider of that protocol.'),
      totp: text('Code of the second factor, or a recovery code, if required.'),
    },
    example: { username: 'ops@example.org', password: 'correct-horse-battery' },
    credentials: ['-c cookies'],
  },
  'GET /auth/login': { parameters: {}, example: {}, credentials: ['-b cookies'] },
  'POST /auth/logout': { parameters: {}, example: {}, credentials: ['-b cookies'] },
  'GET /auth/options': { parameters: {}, example: {}, credentials: NONE },
  'POST /auth/password': {
    parameters: {
      username: text('Name of the user if there is no session.'),
      password: text('The current password.'),
      new_password: text('The new password.'),
      totp: text('Code of the second factor, if there is one and no session.'),
    },
    required: ['password', 'new_password'],
    example: { password: 'correct-horse-battery', new_password: 'staple-battery-horse' },
    credentials: ['-b cookies', '-c cookies'],
  },
  'GET /auth/totp': { parameters: {}, example: {}, credentials: ['-b cookies'] },
  'POST /auth/totp/begin': totpRequest('Code of the existing factor, or a recovery code.'),
  'POST /auth/totp/confirm': totpRequest('Code of the new factor.', ['totp']),
  'POST /auth/totp/codes': totpRequest('Code of the factor, or a recovery code.', ['totp']),
  'POST /auth/totp/remove': totpRequest('Code of the factor, or a recovery code.', ['totp']),
  'POST /auth/totp/reset': {
    parameters: { username: text('Name of the user.') },
    required: ['username'],
    example: { username: 'ops@example.org' },
  },
  'POST /oauth2/token': {
    parameters: {
      grant_type: text('`client_credentials`; also `password` and `refresh_token` if enabled.'),
      ...CLIENT,
      scope: text('`global`, or absent.'),
      username: text('For the grant `password`.'),
      password: text('For the grant `password`.'),
      totp: text('For the grant `password`, if the user has a second factor.'),
      refresh_token: text('For the grant `refresh_token`.'),
    },
    required: ['grant_type'],
    example: { grant_type: 'client_credentials' },
    credentials: BASIC,
  },
  'POST /oauth2/revoke': {
    parameters: { token: text('The access or refresh token.'), ...CLIENT },
    required: ['token'],
    example: { token: '2YotnFZFEjr1zCsicMWpAA2YotnFZFEjr1zCsicM' },
    credentials: BASIC,
  },
  'GET /api/settings': {
    parameters: {
      action: text('`get` (default), `list` or `history`.'),
      ...SETTING,
    },
    example: { action: 'get', category: 'taxation.default' },
  },
  'POST /api/clock': {
    parameters: { to: text('Time in ISO 8601, not before the present one.') },
    required: ['to'],
    example: { to: '2026-03-01T00:00:00Z' },
  },
  'POST /api/settings': {
    parameters: {
      action: text('`set`, `unset` or `restore`, or an action of GET.'),
      ...SETTING,
      data: anyValue('The value; JSON text in a form.'),
      validate: flag('True: the change is only tried, nothing is stored.'),
    },
    example: { action: 'set', category: 'taxation.default', data: 'REDUCED' },
  },
}

function totpRequest(description: string, required: readonly string[] = []): NodeRequest {
  const parameters = { totp: text(description) }
  return { parameters, required, example: { totp: '287082' }, credentials: ['-b cookies'] }
}

const OTHER_REQUESTS: Readonly<Record<string, NodeRequest>> = {
  ...PAYMENT_REQUESTS,
  ...REPORT_REQUESTS,
}
const NO_REQUEST: NodeRequest = { parameters: {}, example: {} }

const ACTION_TAG = 'actions'

/** By path. `baseUrl`: base URL of the node for the examples. */
export function nodePaths(baseUrl: string): Readonly<Record<string, PathItem>> {
  const listed = [
    ...Object.values(NODE_ENDPOINTS).map((endpoint) => ({ endpoint, tag: 'node' })),
    ...Object.values(PAYMENT_ENDPOINTS).map((endpoint) => ({ endpoint, tag: 'payments' })),
    ...Object.values(REPORT_ENDPOINTS).map((endpoint) => ({ endpoint, tag: ACTION_TAG })),
    ...Object.values(CLOCK_ENDPOINTS).map((endpoint) => ({ endpoint, tag: 'node' })),
    ...[...AUTH_ENDPOINTS, ...SETTINGS_ENDPOINTS].map((endpoint) => ({ endpoint, tag: 'access' })),
  ]
  const paths: Record<string, PathItem> = {}
  for (const { endpoint, tag } of listed) {
    const method = endpoint.method === 'GET' ? 'get' : 'post'
    const operationSchema = operation(endpoint, tag, baseUrl)
    const path = templateOf(endpoint.path)
    paths[path] = { ...paths[path], [method]: operationSchema }
  }
  return paths
}

/** Parameters of a path as in OpenAPI. */
export function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

function operation(endpoint: Endpoint, tag: string, baseUrl: string): Operation {
  const { method, path, access, about } = endpoint
  const name = `${method} ${path}`
  const words = path.split(/\W+/).filter(Boolean)
  const request = REQUESTS[name] ?? OTHER_REQUESTS[name] ?? NO_REQUEST
  const answer =
    NODE_ANSWERS[name] ?? LIVE_ANSWERS[name] ?? PAYMENT_ANSWERS[name] ?? REPORT_ANSWERS[name]
  const { inPath, others } = split(path, request)
  const inQuery = method === 'GET' ? Object.entries(others.parameters) : []
  const parameters = [
    ...inPath.map(([parameter, schema]) => ({
      ...inAddress(parameter, schema, request.example[parameter] ?? '', 'path'),
      required: true,
    })),
    ...inQuery.map(([parameter, schema]) =>
      inAddress(parameter, schema, request.example[parameter] ?? '', 'query'),
    ),
  ]
  const hasBody = method === 'POST' && Object.keys(others.parameters).length > 0
  return {
    operationId: [...words, method.toLowerCase()].join('.'),
    tags: [tag],
    summary: about,
    description: [`${about}.`, accessDescription(access)].filter((part) => part !== '').join(' '),
    ...(typeof access !== 'string' && { 'x-roles': [...new Set([...access, ADMIN])] }),
    ...codeSamples(sampleOf(endpoint, others, baseUrl)),
    ...(access === 'public' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(hasBody && { requestBody: bodyOf(others) }),
    responses: answer === undefined ? {} : responsesOf(answer),
  }
}

function inAddress(name: string, schema: Schema, example: unknown, place: string): Schema {
  const { description } = schema
  return { name, in: place, description, schema, example }
}

/** The parameters of the path, and a request of the others. */
function split(path: string, request: NodeRequest) {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const isInPath = ([name]: readonly [string, unknown]) => names.includes(name)
  const entries = Object.entries(request.parameters)
  const rest = (all: object) =>
    Object.fromEntries(Object.entries(all).filter((each) => !isInPath(each)))
  const parameters = rest(request.parameters) as NodeRequest['parameters']
  const others: NodeRequest = { ...request, parameters, example: rest(request.example) }
  return { inPath: entries.filter(isInPath), others }
}

function sampleOf({ method, path }: Endpoint, request: NodeRequest, baseUrl: string): Sample {
  const { example, credentials } = request
  const isSent = Object.keys(example).length > 0
  return {
    method,
    path: templateOf(path),
    baseUrl,
    ...(isSent && (method === 'GET' ? { query: example } : { json: example })),
    ...(credentials !== undefined && { credentials }),
  }
}

function bodyOf({ parameters, required = [], example }: NodeRequest): Schema {
  const schema = object('Parameters.', parameters, required)
  return {
    description: 'Parameters.',
    required: required.length > 0,
    content: {
      'application/json': { schema, example },
      'application/x-www-form-urlencoded': { schema, example },
    },
  }
}

function responsesOf(answer: NodeAnswer): Record<string, Schema> {
  const {
    description,
    schema,
    example,
    type,
    stream,
    refused = [],
    others = {},
    further = {},
    unavailableExample,
  } = answer
  const errors = Object.fromEntries(refused.map((name) => [name, ERROR_EXAMPLES[name]]))
  const all = refused.map((name) => ref(name))
  const whole = all.length === 0 ? schema : either('The response, or an error.', schema, ...all)
  const named = Object.entries(others).map(([status, name]) => [status, response(name)])
  const own = content(whole, { done: example, ...errors }, type)
  const events = stream && content(stream.schema, { events: stream.example }, 'text/event-stream')
  return {
    '200': {
      description,
      content: { ...(own['content'] as Schema), ...(events?.['content'] as Schema | undefined) },
    },
    ...Object.fromEntries(named),
    ...further,
    ...(unavailableExample !== undefined && { '503': unavailableContent(answer) }),
  }
}

function accessDescription(access: RouteAccess): string {
  if (access === 'public') return 'Authentication is not required.'
  if (typeof access === 'string') return 'No role is required.'
  return `Needs one of the roles ${[...new Set([...access, ADMIN])].join(', ')}.`
}
