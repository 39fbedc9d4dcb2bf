/** What is served beside the entity API: the node, logging in, tokens and settings. */
import type { Access } from '../../auth/access.ts'
import { ADMIN } from '../../auth/caller.ts'
import {
  AUTH_ENDPOINTS,
  type Endpoint,
  NODE_ENDPOINTS,
  SETTINGS_ENDPOINTS,
} from '../../permissions/endpoints.ts'
import { json, ref } from './components.ts'
import type { Operation, PathItem } from './operations.ts'
import type { Schema } from './schemas.ts'

const TEXT = { type: 'string' } as const

/** Parameters of each endpoint that takes some: its path, and after it those that must be there. */
const PARAMETERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/auth/login': {
    username: 'Name of the user',
    password: 'Password of the user; never in the address',
    protocol: '`internal` (if it is left out), `ldap` or `saml`',
    provider: 'Name of a configured provider of that protocol',
    totp: 'Code of the second factor, or a recovery code; `details.totp_required` asks for it',
  },
  '/auth/password': {
    username: 'Name of the user, where there is no session',
    password: 'The password until now',
    new_password: 'The one from now on',
    totp: 'Code of the second factor, where there is one and no session',
  },
  '/auth/totp/begin': { totp: 'Code of the present second factor, where there is one' },
  '/auth/totp/confirm': { totp: 'Code of the secret that `begin` has given' },
  '/auth/totp/codes': { totp: 'Code of the second factor, or a recovery code' },
  '/auth/totp/remove': { totp: 'Code of the second factor, or a recovery code' },
  '/auth/totp/reset': { username: 'Name of the user' },
  '/oauth2/token': {
    grant_type: '`client_credentials`, or `password` and `refresh_token` where they are enabled',
    client_id: 'Name of the client, unless it comes by HTTP Basic',
    client_secret: 'Secret of the client, unless it comes by HTTP Basic',
    username: 'Of the grant `password`',
    password: 'Of the grant `password`',
    totp: 'Of the grant `password`, of a user who has a second factor',
    refresh_token: 'Of the grant `refresh_token`',
  },
  '/oauth2/revoke': {
    token: 'The access or refresh token',
    client_id: 'Name of the client, unless it comes by HTTP Basic',
    client_secret: 'Secret of the client, unless it comes by HTTP Basic',
  },
  '/api/settings': {
    action: '`get` (if it is left out), `set`, `unset`, `history` or `restore`',
    category: 'Category, such as `security`, with the path behind it or in `path`',
    path: 'Names and indexes with points between them',
    data: 'The value, as JSON',
    rev: 'Version: to read, to restore, or that the change was made from',
  },
}

const ANSWERS: Readonly<Record<string, Schema>> = {
  '/oauth2/token': {
    type: 'object',
    properties: {
      access_token: TEXT,
      expires_in: { type: 'integer' },
      token_type: { type: 'string', const: 'Bearer' },
      scope: { type: ['string', 'null'] },
      refresh_token: TEXT,
    },
    required: ['access_token', 'expires_in', 'token_type'],
  },
}

const STATUS: Schema = {
  type: 'object',
  properties: {
    status: { type: 'integer', enum: [0, 1] },
    desc: TEXT,
    message: TEXT,
    details: {},
  },
}

const PAGES: ReadonlySet<string> = new Set(['/docs', '/metrics'])

/** By path. */
export const NODE_PATHS: Readonly<Record<string, PathItem>> = pathsOf([
  ...Object.values(NODE_ENDPOINTS).map((endpoint) => ({ endpoint, tag: 'node' })),
  ...[...AUTH_ENDPOINTS, ...SETTINGS_ENDPOINTS].map((endpoint) => ({ endpoint, tag: 'access' })),
])

function pathsOf(
  listed: readonly { endpoint: Endpoint; tag: string }[],
): Readonly<Record<string, PathItem>> {
  const paths: Record<string, PathItem> = {}
  for (const { endpoint, tag } of listed) {
    const method = endpoint.method === 'GET' ? 'get' : 'post'
    paths[endpoint.path] = { ...paths[endpoint.path], [method]: operation(endpoint, tag) }
  }
  return paths
}

function operation({ method, path, access, about }: Endpoint, tag: string): Operation {
  const words = path.split(/\W+/).filter(Boolean)
  const parameters = Object.entries(PARAMETERS[path] ?? {})
  const properties = Object.fromEntries(
    parameters.map(([name, description]) => [name, { ...TEXT, description }]),
  )
  const isAsked = method === 'GET' && tag === 'access' && path !== '/auth/login'
  const type = PAGES.has(path) ? 'text/plain' : 'application/json'
  const schema = type === 'text/plain' ? TEXT : (ANSWERS[path] ?? STATUS)
  return {
    operationId: [...words, method].join('.'),
    tags: [tag],
    summary: about,
    description: [`${about}.`, needs(access)].filter((part) => part !== '').join(' '),
    ...(typeof access !== 'string' && { 'x-roles': [...new Set([...access, ADMIN])] }),
    ...(access === 'public' && { security: [] }),
    ...(isAsked && {
      parameters: parameters.map(([name, description]) => ({
        ...{ name, in: 'query', description, schema: TEXT },
      })),
    }),
    ...(method === 'POST' && { requestBody: bodyOf(properties) }),
    responses: {
      '200': { description: 'The answer.', content: { [type]: { schema } } },
      ...(access !== 'public' && {
        '401': { description: 'Nobody has authenticated.', ...json(ref('error')) },
      }),
    },
  }
}

function bodyOf(properties: Record<string, Schema>): Schema {
  const schema = { type: 'object', properties }
  return {
    content: {
      'application/json': { schema },
      'application/x-www-form-urlencoded': { schema },
    },
  }
}

function needs(access: Access): string {
  if (access === 'public') return 'Nobody has to authenticate.'
  if (typeof access === 'string') return 'Takes no role.'
  return `Needs one of the roles ${[...new Set([...access, ADMIN])].join(', ')}.`
}
