/** Authentication and authorisation of every route of the control plane. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { mustAuthenticate } from '../../config/hosts.ts'
import type { Config } from '../../config/schema.ts'
import type { RouteAccess } from '../../identity/access.ts'
import { ADMIN, actorOf, type Caller, mayDo, openActor } from '../../identity/caller.ts'
import type { ClientIdentity, SignatureCheck, TokenCheck } from '../../identity/checks.ts'
import { InvalidTokenError } from '../../identity/oauth/errors.ts'
import type { Refusal, RefusalAudit } from '../../identity/refusal-audit.ts'
import type { SessionCheck, SessionLook } from '../../identity/session-check.ts'
import { NotAllowedError, NotLoggedInError, RequestError } from '../../requests/errors.ts'
import type { OrderedParameters } from '../../requests/raw-parameters.ts'
import { queryParameters } from '../http/body.ts'
import { sessionCookieOf, setSessionCookie } from './cookies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if the headers and query identify no caller. */
    caller: Caller | null
    /** Why the token of the request was rejected. */
    refusal: Error | null
    /** Whether a caller is needed, and only the body can still identify one. */
    isUnidentified: boolean
  }
}

export interface AuthGuardOptions {
  readonly admin: Pick<Config['admin'], 'host' | 'openTo'>
  readonly token: TokenCheck
  readonly signature: SignatureCheck
  readonly session: SessionCheck
  readonly look: SessionLook
  /** Audits refused authorisations; counts in memory only. */
  readonly denied: Pick<RefusalAudit, 'record'>
}

/** Repeats the check of an admitted caller while it is sent a stream. */
export interface FollowedCaller {
  /** The same for all requests of a login session, a client, or an address. */
  readonly key: string
  /** `ended`: session or token; `refused`: the roles. Rejects if a store is unavailable. */
  check(): Promise<'admitted' | 'ended' | 'refused'>
}

export interface AuthGuard {
  /** Whether the operator has opened the port to unauthenticated callers. */
  readonly isOpen: boolean
  /** Adds the hooks to a server; call it before any route is added. */
  install(server: FastifyInstance): void
  /**
   * Returns the caller if it is authorised. `parameters`: may contain a token or a
   * signature; `action`: what is called, in the audit (the route by default). Throws
   * `NotLoggedInError`, `InvalidTokenError`, `NotAllowedError`, or errors of the stores.
   */
  admit(
    request: FastifyRequest,
    parameters: OrderedParameters,
    needed: RouteAccess,
    action?: string,
  ): Promise<Caller>
  /** Whether the cookie is of a login session, which this does not prolong; for public routes. */
  hasSession(request: FastifyRequest): Promise<boolean>
  /** Null for a signed request: a signature is valid once. */
  follow(request: FastifyRequest, needed: readonly string[]): FollowedCaller | null
}

const TOKEN_TWICE = 'the access token is in more than one place'
const HOW_TO_AUTHENTICATE = 'log in (POST /auth/login), or send an access token or a signature'

export function createAuthGuard(options: AuthGuardOptions): AuthGuard {
  const isOpen = !mustAuthenticate(options.admin.host, options.admin.openTo)

  const resolve = async (
    request: FastifyRequest,
    parameters: OrderedParameters,
  ): Promise<Caller> => {
    if (isTokenTwice(request, parameters)) throw notLoggedIn(request, TOKEN_TWICE)
    const caller =
      (await resolveCaller(options, request, parameters)) ??
      (isOpen && request.refusal === null ? openCaller(request) : null)
    if (caller === null) throw request.refusal ?? notLoggedIn(request, HOW_TO_AUTHENTICATE)
    request.caller = caller
    return caller
  }
  const admit: AuthGuard['admit'] = async (request, parameters, needed, action) => {
    try {
      const caller = await resolve(request, parameters)
      checkRoles(request, caller, needed)
      // A route that checks roles later begins with any user.
      const isBegin = request.routeOptions.config.access === 'checkedByRoute' && needed === 'user'
      if (!isBegin) refuseWriteByLink(request, caller)
      return caller
    } catch (error) {
      const refusal = deniedIn(request, error, action)
      if (refusal !== null) await options.denied.record(refusal)
      throw error
    }
  }

  return {
    isOpen,
    install(server) {
      server.decorateRequest('caller', null)
      server.decorateRequest('refusal', null)
      server.decorateRequest('isUnidentified', false)
      server.addHook('onRoute', ({ url, method, config }) => {
        if (config?.access !== undefined) return
        throw new RangeError(`${String(method)} ${url} has no access rule`)
      })
      server.addHook('onRequest', async (request, reply) => {
        const access = request.routeOptions.config.access
        if (request.is404 || access === undefined) return
        if (access !== 'public') await identify(options, request, reply)
        request.isUnidentified = !isOpen && request.caller === null
        if (access === 'public') return
        if (access !== 'checkedByRoute') await admit(request, queryParameters(request.url), access)
      })
    },
    admit,
    async hasSession(request) {
      return (await options.session(sessionCookieOf(request), 'passive')) !== null
    },
    follow: (request, needed) => follow(options, request, needed),
  }
}

function follow(
  { token: check, look }: AuthGuardOptions,
  request: FastifyRequest,
  needed: readonly string[],
): FollowedCaller | null {
  const { caller } = request
  if (caller === null || caller.by === 'signature') return null
  const { by, id, sessionId, address } = caller
  if (sessionId !== undefined) {
    return {
      key: `session ${sessionId}`,
      async check() {
        const user = await look(sessionId)
        if (user === null) return 'ended'
        const hasDuty = user.mustChangePassword || user.mustEnrolTotp
        return !hasDuty && mayDo(user, needed) ? 'admitted' : 'refused'
      },
    }
  }
  if (by !== 'token') return { key: `address ${address}`, check: async () => 'admitted' }
  const [token] = tokensOf(request)
  return {
    key: `client ${id}`,
    async check() {
      const identity = await clientOf(check, token)
      if (identity === null) return 'ended'
      return mayDo(identity, needed) ? 'admitted' : 'refused'
    },
  }
}

/** Sets the caller identified by a token in the headers or query, or by the session cookie. */
export async function identify(
  options: Pick<AuthGuardOptions, 'token' | 'session'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const tokens = tokensOf(request)
  if (tokens.length > 1) throw notLoggedIn(request, TOKEN_TWICE)
  const [token] = tokens
  if (token !== undefined) {
    const identity = await clientOf(options.token, token)
    if (identity !== null) request.caller = clientCaller('token', identity, request)
    else request.refusal = new InvalidTokenError()
  }
  request.caller ??= await sessionCaller(options, request, reply)
}

/** Tokens in the headers and the query. */
function tokensOf({ headers, url }: FastifyRequest): unknown[] {
  const tokens = [bearerOf(headers.authorization), queryParameters(url).get('access_token')]
  return tokens.filter((token) => token !== undefined)
}

/** In `parameters`, one of the body replaces one of the query. */
function isTokenTwice({ headers, url }: FastifyRequest, parameters: OrderedParameters): boolean {
  const token = parameters.get('access_token')
  if (token === undefined) return false
  const inAddress = queryParameters(url).get('access_token')
  return bearerOf(headers.authorization) !== undefined || (inAddress ?? token) !== token
}

async function clientOf(check: TokenCheck, token: unknown): Promise<ClientIdentity | null> {
  return typeof token === 'string' && token !== '' ? check(token) : null
}

const BEARER_LENGTH = 'bearer '.length

/** Other authentication schemes are ignored. */
function bearerOf(authorization = ''): string | undefined {
  if (!/^bearer /i.test(authorization)) return undefined
  // A single pattern would backtrack over every blank: seconds for a long header.
  const token = authorization.slice(BEARER_LENGTH).trim()
  return /\s/.test(token) ? undefined : token
}

/**
 * Order of precedence: token, signature, session. An invalid token or signature falls back to the
 * session.
 */
async function resolveCaller(
  options: AuthGuardOptions,
  request: FastifyRequest,
  parameters: OrderedParameters,
): Promise<Caller | null> {
  const { caller } = request
  if (caller === null) return callerByParameters(options, request, parameters)
  if (caller.by !== 'session') return caller
  try {
    return (await callerByParameters(options, request, parameters)) ?? caller
  } catch (error) {
    if (error instanceof InvalidTokenError || error instanceof NotLoggedInError) return caller
    throw error
  }
}

/** Caller by a token in the body, or by a signature. */
async function callerByParameters(
  { token: check, signature }: AuthGuardOptions,
  request: FastifyRequest,
  parameters: OrderedParameters,
): Promise<Caller | null> {
  if (request.refusal !== null) return null
  const token = parameters.get('access_token')
  if (token !== undefined) {
    const identity = await clientOf(check, token)
    if (identity === null) throw new InvalidTokenError()
    return clientCaller('token', identity, request)
  }
  const signed = await signature(parameters)
  if (signed === 'absent') return null
  if ('refused' in signed) throw notLoggedIn(request, signed.refused, BadSignatureError)
  return clientCaller('signature', signed, request)
}

async function sessionCaller(
  { session }: Pick<AuthGuardOptions, 'session'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller | null> {
  const use = request.routeOptions.config.isPassive === true ? 'passive' : 'active'
  const found = await session(sessionCookieOf(request), use)
  if (found === null) return null
  if (found.renewed !== null) setSessionCookie(reply, found.renewed)
  const { id, name, roles, mustChangePassword, mustEnrolTotp } = found.user
  const duties = { mustChangePassword, mustEnrolTotp }
  return { by: 'session', id, name, address: request.ip, roles, ...duties, sessionId: found.id }
}

/**
 * A browser sends the cookie, and reaches an open port, for a link on any page. HEAD is served for
 * every GET route, so it never writes. Throws `RequestError` 405.
 */
function refuseWriteByLink(request: FastifyRequest, { by }: Caller): void {
  const { method, headers, routeOptions } = request
  if (method !== 'GET' && method !== 'HEAD') return
  const { readsByGet = false } = routeOptions.config
  if (readsByGet === true || (readsByGet !== false && readsByGet(request))) return
  const isByBrowser = by === 'session' || (by === 'open' && headers['sec-fetch-site'] !== undefined)
  if (method === 'GET' && !isByBrowser) return
  const why = isByBrowser
    ? 'with a session cookie: it writes, and a link on any page would send it by GET. GET is for ' +
      'callers with an access token or a signature'
    : 'or GET: HEAD may not write'
  const name = request.url.replace(/\?.*$/s, '').split('/').at(-1)?.slice(0, 64)
  throw new RequestError(405, `${name} must be sent by POST ${why}`, { allow: 'POST' })
}

const NO_DUTIES = { mustChangePassword: false, mustEnrolTotp: false } as const

function clientCaller(
  by: 'token' | 'signature',
  { name, roles, user }: ClientIdentity,
  request: FastifyRequest,
): Caller {
  const who = user ?? { id: name, name }
  return { by, ...who, address: request.ip, roles, ...NO_DUTIES }
}

/** Caller of a port that the operator has opened explicitly. */
function openCaller({ ip }: FastifyRequest): Caller {
  return { ...openActor(ip), roles: [ADMIN], ...NO_DUTIES }
}

/** Clients of the API detect errors by the code in the body, other clients by the HTTP status. */
const INTERFACE = /^\/(?:billapi|api|admin|auth)(?:\/|$)/i

function notLoggedIn(request: FastifyRequest, why: string, Refusal = NotLoggedInError): Error {
  return new Refusal(`No user is logged in: ${why}`, statusOr(401, request))
}

function statusOr(others: 401 | 403, request: FastifyRequest): number {
  return INTERFACE.test(request.routeOptions.url ?? '') ? 200 : others
}

/**
 * Null without credentials, which is no attempt: pages ask for the session of a browser. Reasons:
 * `role`: the caller lacks it; `duty`: it must change its password, or set up a second factor.
 */
function deniedIn(
  { caller, method, routeOptions, ip }: FastifyRequest,
  error: unknown,
  action = `${method} ${routeOptions.url ?? ''}`,
): Refusal | null {
  const entry = { collection: 'access', type: 'refused', key: action }
  if (error instanceof NotAllowedError && caller !== null) {
    const isDuty = caller.mustChangePassword || caller.mustEnrolTotp
    const actor = actorOf(caller)
    const account = [actor.by, actor.id, action].join('\0')
    return { entry, actor, account, reason: isDuty ? 'duty' : 'role' }
  }
  const by = error instanceof InvalidTokenError ? 'token' : 'signature'
  const isRefused = error instanceof InvalidTokenError || error instanceof BadSignatureError
  if (!isRefused) return null
  const actor = { by, id: '', name: '', address: ip } as const
  return { entry, actor, account: [by, '', action].join('\0'), reason: 'credentials' }
}

class BadSignatureError extends NotLoggedInError {}

function checkRoles(request: FastifyRequest, caller: Caller, needed: RouteAccess): void {
  const status = statusOr(403, request)
  if (caller.mustChangePassword) {
    const how = 'POST /auth/password with password and new_password'
    throw new NotAllowedError(`No permission: the password must be changed first (${how})`, status)
  }
  if (caller.mustEnrolTotp) {
    const how = 'POST /auth/totp/begin, then /auth/totp/confirm with totp'
    throw new NotAllowedError(
      `No permission: a second factor must be set up first (${how})`,
      status,
    )
  }
  if (typeof needed === 'string' || mayDo(caller, needed)) return
  const roles = [...new Set([...needed, ADMIN])].join(', ')
  throw new NotAllowedError(`No permission: this takes one of the roles ${roles}`, status)
}
