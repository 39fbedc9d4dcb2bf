/** `POST /oauth2/token` (RFC 6749) and `POST /oauth2/revoke` (RFC 7009). */
import OAuth2Server from '@node-oauth/oauth2-server'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { constant, integer, text, type ValueOf } from '../../../catalog/entities/json-schema.ts'
import {
  SECURITY,
  type SecuritySettings,
} from '../../../catalog/settings/access/security-settings.ts'
import { countRequest } from '../../../identity/oauth/attempts.ts'
import { recordRefused, recordRevoked } from '../../../identity/oauth/audit.ts'
import { authenticateClient } from '../../../identity/oauth/client-check.ts'
import {
  challenged,
  OAuthError,
  oauthErrorOf,
  SERVER_ERROR,
} from '../../../identity/oauth/errors.ts'
import { tokenModel } from '../../../identity/oauth/model.ts'
import type { OAuthDeps } from '../../../identity/oauth/oauth-deps.ts'
import type { OAuthParameters } from '../../../identity/oauth/parameters.ts'
import type { TokenRequest } from '../../../identity/oauth/token-request.ts'
import { createRefusalAudit, HOUR_MS } from '../../../identity/refusal-audit.ts'
import { LOGIN_BODY_BYTES_MAX } from '../../../requests/json-limits.ts'
import type { TokenKind } from '../../../store/tokens.ts'
import { component, DONE, nullable } from '../../http/answer-schema.ts'
import { bodyErrorOf, registerBodies } from '../../http/body.ts'
import { addEndpoints, post } from '../../http/endpoint.ts'
import { readOAuthParameters } from './oauth-parameters.ts'

const PLACEHOLDER = 'given'
const OTHER_METHODS = ['GET', 'PUT', 'PATCH', 'DELETE']
const NOT_STORED = { 'cache-control': 'no-store', pragma: 'no-cache' }

const CLIENT = {
  client_id: text('Name of the client, unless HTTP Basic is used.'),
  client_secret: text('Secret of the client, unless HTTP Basic is used.'),
}

const credentials = ['-u "crm:$SECRET"']
const OTHERS = {
  '400': 'badOAuth',
  '401': 'badClient',
  '403': 'forbidden',
  '413': 'badOAuth',
  '429': 'tooManyTokens',
  '500': 'badOAuth',
  '503': 'badOAuth',
} as const

const TOKEN = component(
  'tokenAnswer',
  'A token (RFC 6749, section 5.1).',
  {
    access_token: text('The token; it is sent as `Authorization: Bearer TOKEN`.'),
    expires_in: integer('Validity in seconds.'),
    token_type: constant('Bearer', 'How it is sent.'),
    scope: nullable(text('Scope, if one was requested.')),
    refresh_token: text('Token for the refresh grant, if that is enabled.'),
  },
  ['refresh_token'],
)

const token = post('/oauth2/token', {
  access: 'public',
  about: 'Get an access token',
  request: {
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
    credentials,
  },
  answer: {
    description: 'A token.',
    schema: TOKEN,
    example: {
      access_token: '2YotnFZFEjr1zCsicMWpAA2YotnFZFEjr1zCsicM',
      expires_in: 3600,
      token_type: 'Bearer',
      scope: null,
    },
    others: OTHERS,
  },
  run: (deps: OAuthDeps, request, reply) => answerCounted(deps, request, reply, answerToken),
})

const revocation = post('/oauth2/revoke', {
  access: 'public',
  about: 'Revoke a token',
  request: {
    parameters: { token: text('The access or refresh token.'), ...CLIENT },
    required: ['token'],
    example: { token: '2YotnFZFEjr1zCsicMWpAA2YotnFZFEjr1zCsicM' },
    credentials,
  },
  answer: {
    description: 'The token is revoked, or was not valid.',
    schema: component('revoked', 'The token is revoked.', { status: DONE }),
    example: { status: 1 },
    others: OTHERS,
  },
  run: (deps: OAuthDeps, request, reply) => answerCounted(deps, request, reply, answerRevocation),
})

export const OAUTH_ENDPOINTS = [token, revocation]

export function addOAuthRoutes(
  server: FastifyInstance,
  provided: Omit<OAuthDeps, 'refusals'>,
): void {
  const period = { periodMs: HOUR_MS, message: 'a client was refused' }
  const deps = { ...provided, refusals: createRefusalAudit(provided, period) }
  server.register(async (routes) => {
    registerBodies(routes, LOGIN_BODY_BYTES_MAX)
    routes.setErrorHandler(errorAnswer(deps.log))
    addEndpoints(routes, OAUTH_ENDPOINTS, deps)
    for (const { path: url, access } of OAUTH_ENDPOINTS) {
      routes.route({ method: OTHER_METHODS, url, config: { access }, handler: refuseMethod })
    }
  })
}

async function answerCounted<T>(
  deps: OAuthDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: (deps: OAuthDeps, sent: OAuthParameters, security: SecuritySettings) => Promise<T>,
): Promise<T> {
  const security = await deps.settings.get(SECURITY)
  await countRequest(deps.keys, security, request.ip)
  reply.headers(NOT_STORED)
  return answer(deps, readOAuthParameters(request), security)
}

function errorAnswer(log: OAuthDeps['log']) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const known = oauthErrorOf(bodyErrorOf(error))
    if (known === null) log.error({ err: error, req: request }, 'request failed')
    const answered = challenged(known ?? SERVER_ERROR, request.headers.authorization)
    // The rest of an unread body would be parsed as the next request.
    if (answered.httpStatus === 413 || request.isMultipart()) reply.header('connection', 'close')
    return reply
      .code(answered.httpStatus)
      .headers({ ...NOT_STORED, ...answered.headers })
      .send(answered.body())
  }
}

async function refuseMethod(): Promise<never> {
  throw new OAuthError('invalid_request', 'The method must be POST', {
    httpStatus: 405,
    headers: { allow: 'POST, OPTIONS' },
    uri: 'https://datatracker.ietf.org/doc/html/rfc6749#section-3.2',
  })
}

async function answerToken(
  deps: OAuthDeps,
  parameters: OAuthParameters,
  security: SecuritySettings,
): Promise<ValueOf<typeof TOKEN>> {
  const grant = requestedGrant(parameters, security)
  const request: TokenRequest = { deps, parameters, grant, security, client: null }
  return auditingRefusals(request, async () => {
    const server = new OAuth2Server({ model: tokenModel(request) })
    const response = new OAuth2Server.Response()
    const token = await server.token(libraryRequest(parameters, grant), response)
    const refresh = token.refreshToken === undefined ? {} : { refresh_token: token.refreshToken }
    return {
      access_token: token.accessToken,
      expires_in: security.oauth.access_token_seconds,
      token_type: 'Bearer',
      scope: token.scope?.[0] ?? null,
      ...refresh,
    }
  })
}

function requestedGrant(parameters: OAuthParameters, { oauth }: SecuritySettings): string {
  const grant = parameters.text('grant_type')
  if (grant === null) throw new OAuthError('invalid_request', 'grant_type is missing')
  if (oauth.grants.some((each) => each === grant)) return grant
  const message = `grant_type may be ${oauth.grants.join(', ')}`
  throw new OAuthError('unsupported_grant_type', message)
}

/**
 * The request in the library's format. The model reads names, secrets and passwords from the
 * parameters because the library rejects some valid values; here they are only marked as present.
 */
function libraryRequest(parameters: OAuthParameters, grant: string): OAuth2Server.Request {
  const text = (name: 'scope' | 'refresh_token') => parameters.text(name) ?? undefined
  const placeholder = (name: 'username' | 'password') =>
    parameters.text(name) === null ? undefined : PLACEHOLDER
  return new OAuth2Server.Request({
    method: 'POST',
    query: {},
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1' },
    body: {
      grant_type: grant,
      client_id: PLACEHOLDER,
      client_secret: PLACEHOLDER,
      scope: text('scope'),
      refresh_token: text('refresh_token'),
      username: placeholder('username'),
      password: placeholder('password'),
    },
  })
}

/** An unknown token counts as revoked (RFC 7009 section 2.2). */
async function answerRevocation(
  deps: OAuthDeps,
  parameters: OAuthParameters,
  security: SecuritySettings,
): Promise<{ status: 1 }> {
  const request: TokenRequest = { deps, parameters, grant: 'revoke', security, client: null }
  return auditingRefusals(request, async () => {
    request.client = await authenticateClient(deps, parameters, security)
    const token = parameters.text('token')
    if (token === null) throw new OAuthError('invalid_request', 'token is missing')
    for (const kind of ['access', 'refresh'] as const) {
      await revoke(request, kind, deps.tokens[kind], token)
    }
    return { status: 1 }
  })
}

async function revoke(
  request: TokenRequest,
  kind: 'access' | 'refresh',
  tokens: TokenKind,
  token: string,
): Promise<void> {
  const holder = await tokens.find(token)
  if (holder === null) return
  if (holder.client !== request.client?.name) {
    throw new OAuthError('invalid_grant', 'The token belongs to another client')
  }
  // Revoked before the audit entry is written, so that it stays revoked if the audit is
  // unavailable.
  await tokens.revoke(token)
  if (kind === 'refresh' && holder.family !== null) {
    await request.deps.tokens.endFamily(holder.family)
  }
  await recordRevoked(request, kind, holder)
}

/** Adds refusals to the audit. */
async function auditingRefusals<T>(request: TokenRequest, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    const known = oauthErrorOf(error)
    if (known !== null) await recordRefused(request, known)
    throw error
  }
}
