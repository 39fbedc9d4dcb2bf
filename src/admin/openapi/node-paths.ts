/** Paths of the endpoints outside the entity API: node, login, tokens and settings. */
import { anyValue, flag, type Schema, text } from '../../catalog/entities/json-schema.ts'
import { ENDPOINTS } from '../endpoints.ts'
import type { EndpointDescription, EndpointRequest } from '../http/endpoint.ts'
import {
  AUTH_ENDPOINTS,
  type Endpoint,
  PAYMENT_ENDPOINTS,
  REPORT_ENDPOINTS,
  SETTINGS_ENDPOINTS,
} from '../permissions/endpoints.ts'
import { endpointPaths } from './endpoint-paths.ts'
import { NODE_ANSWERS } from './node-answers.ts'
import type { PathItem } from './operations.ts'
import { PAYMENT_ANSWERS, PAYMENT_REQUESTS } from './payment-docs.ts'
import { REPORT_ANSWERS, REPORT_REQUESTS } from './report-docs.ts'

type NodeRequest = EndpointRequest

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
export function nodePaths(
  baseUrl: string,
  components: Record<string, Schema>,
): Readonly<Record<string, PathItem>> {
  const listed = [
    ...ENDPOINTS.node.map((endpoint) => ({ endpoint, tag: 'node' })),
    ...Object.values(PAYMENT_ENDPOINTS).map((endpoint) => ({
      endpoint: described(endpoint),
      tag: 'payments',
    })),
    ...Object.values(REPORT_ENDPOINTS).map((endpoint) => ({
      endpoint: described(endpoint),
      tag: ACTION_TAG,
    })),
    ...ENDPOINTS.clock.map((endpoint) => ({ endpoint, tag: 'node' })),
    ...[...AUTH_ENDPOINTS, ...SETTINGS_ENDPOINTS].map((endpoint) => ({
      endpoint: described(endpoint),
      tag: 'access',
    })),
  ]
  return endpointPaths(listed, baseUrl, components)
}

function described(endpoint: Endpoint): EndpointDescription {
  const name = `${endpoint.method} ${endpoint.path}`
  const request = REQUESTS[name] ?? OTHER_REQUESTS[name] ?? NO_REQUEST
  const answer = NODE_ANSWERS[name] ?? PAYMENT_ANSWERS[name] ?? REPORT_ANSWERS[name]
  if (answer === undefined) throw new RangeError(`${name} has no answer`)
  return { ...endpoint, request, answer }
}
