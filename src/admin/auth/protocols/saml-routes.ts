/**
 * SAML login over HTTP. The provider's response arrives by a cross-site POST without usable
 * cookies. It is only stored, and the browser is redirected by GET; that request carries the cookie
 * of the browser that began the login, and only this browser gets the session.
 */
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../../../catalog/actor.ts'
import type { AuditEntry } from '../../../catalog/audit/audit.ts'
import type { SamlSettings } from '../../../catalog/settings/access/auth-schema.ts'
import type { AuthDeps } from '../../../identity/auth-deps.ts'
import {
  createSaml,
  REQUEST_MS,
  type Saml,
  type SamlLogin,
} from '../../../identity/protocols/saml.ts'
import { metadataOf } from '../../../identity/protocols/saml-provider.ts'
import { SamlRefusedError } from '../../../identity/protocols/saml-refused.ts'
import { createRefusalAudit, HOUR_MS } from '../../../identity/refusal-audit.ts'
import type { LoginSessions, SessionUser } from '../../../identity/sessions.ts'
import { errorBody } from '../../client-errors.ts'
import { errorHandler } from '../../http/answer.ts'

export type SamlDeps = Pick<AuthDeps, 'keys' | 'settings' | 'audit' | 'clock' | 'log'>

export interface SamlSessions {
  readonly sessions: Pick<LoginSessions, 'open'>
  /** Sets the session cookie. */
  setCookie(reply: FastifyReply, request: FastifyRequest, value: string): void
  /** Throws an `ApiError` if the address sends too many requests. */
  limit(request: FastifyRequest): Promise<void>
}

/** Implements `RedirectProtocol`. */
export interface SamlProtocol {
  readonly type: 'saml'
  /**
   * Returns the local page to which the browser must go first; it binds the login to the browser.
   * `unknown` if the provider does not exist.
   */
  begin(provider: string | undefined): Promise<{ readonly redirect: string } | 'unknown'>
}

const KEY_CHARACTERS_MAX = 128
const BODY_BYTES_MAX = 256 * 1024
const FOREIGN = 'the login was not begun in this browser, or took too long: begin again'
const UNCACHED = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' } as const

/** Answers 404 for providers that are not configured. */
export function addSamlRoutes(
  server: FastifyInstance,
  deps: SamlDeps,
  ways: SamlSessions,
): SamlProtocol {
  const saml = createSaml(deps)
  server.register(async (scope) => {
    scope.setErrorHandler(errorHandler(deps.log))
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: BODY_BYTES_MAX },
      async (_request: FastifyRequest, body: string) => new URLSearchParams(body),
    )
    addRoutes(scope, saml, deps, ways)
  })
  return {
    type: 'saml',
    async begin(name) {
      const provider = await saml.provider(name)
      if (provider === null) return 'unknown'
      // With the host name of the callback URL, because the cookie belongs to that host.
      return { redirect: new URL('login', provider.callback_url).href }
    },
  }
}

type Handler = (
  provider: SamlSettings,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply>

function addRoutes(
  server: FastifyInstance,
  saml: Saml,
  deps: SamlDeps,
  { sessions, setCookie, limit }: SamlSessions,
): void {
  const open = async (
    { user, returnTo }: SamlLogin,
    provider: SamlSettings,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => {
    await record(deps, request, provider, user)
    setCookie(reply, request, await sessions.open(user, 'saml'))
    return reply.redirect(returnTo, 303)
  }
  const refusals = createRefusalAudit(deps, { periodMs: HOUR_MS, message: null })
  const refuse = (provider: SamlSettings, request: FastifyRequest, reason: string) => {
    deps.log.warn({ provider: provider.name, reason }, 'SAML login refused')
    const { actor, entry } = recordOf(request, provider, { type: 'login_failed', reason })
    const account = `saml\0${provider.name}\0${reason}`
    return refusals.record({ actor, entry, account, reason: 'refused' })
  }
  const handled = (handler: Handler) => ({
    config: { access: 'public' as const },
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      const { name } = request.params as { name: string }
      const provider = await saml.provider(name)
      if (provider === null) return reply.callNotFound()
      return handler(provider, request, reply.headers(UNCACHED))
    },
  })
  const login: Handler = async (provider, request, reply) => {
    await limit(request)
    const { return_to: requested } = request.query as { return_to?: unknown }
    const returnTo = typeof requested === 'string' ? requested : undefined
    return reply.redirect(await beginLogin(saml, provider, request, reply, returnTo), 302)
  }
  const acs: Handler = async (provider, request, reply) => {
    await limit(request)
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    try {
      const [response, relayState] = [single(form, 'SAMLResponse'), single(form, 'RelayState')]
      if (response === undefined) throw new SamlRefusedError('the response is missing')
      const accepted = await saml.accept(provider, response, relayState)
      if (accepted !== 'bound') return open(accepted, provider, request, reply)
      return reply.redirect(new URL('done', provider.callback_url).pathname, 303)
    } catch (error) {
      if (!(error instanceof SamlRefusedError)) throw error
      await refuse(provider, request, error.message)
      return reply.code(403).send(errorBody(403, error.publicMessage))
    }
  }
  const done: Handler = async (provider, request, reply) => {
    const binding = bindingOf(provider, request)
    const waiting = binding === undefined ? null : await saml.finish(provider, binding)
    if (waiting !== null) return open(waiting, provider, request, reply)
    // A refused browser may retry at will and must not fill the audit.
    await limit(request)
    await refuse(provider, request, 'no login is pending for this browser')
    return reply.code(403).send(errorBody(403, FOREIGN))
  }
  const metadata: Handler = async (provider, _request, reply) =>
    reply.type('application/samlmetadata+xml').send(await metadataOf(provider))
  server.get('/auth/saml/:name/login', handled(login))
  server.post('/auth/saml/:name/acs', handled(acs))
  server.get('/auth/saml/:name/done', handled(done))
  server.get('/auth/saml/:name/metadata', handled(metadata))
}

/** Throws `SamlRefusedError` for a duplicate parameter: another parser could read the other one. */
function single(form: URLSearchParams, name: string): string | undefined {
  const values = form.getAll(name)
  if (values.length > 1) throw new SamlRefusedError(`there is more than one ${name}`)
  return values[0]
}

async function beginLogin(
  saml: Saml,
  provider: SamlSettings,
  request: FastifyRequest,
  reply: FastifyReply,
  returnTo: string | undefined,
): Promise<string> {
  // One binding for all tabs, so that concurrent logins do not invalidate each other.
  const binding = bindingOf(provider, request) ?? randomBytes(32).toString('base64url')
  const url = await saml.begin(provider, binding, returnTo)
  // SameSite=Lax is sufficient because the browser returns by GET; Strict would not be sent.
  const attributes = `Path=/; Max-Age=${REQUEST_MS / 1000}; HttpOnly; SameSite=Lax`
  const secure = isSecure(provider) ? '; Secure' : ''
  reply.header('set-cookie', `${cookieName(provider)}=${binding}; ${attributes}${secure}`)
  return url
}

function bindingOf(provider: SamlSettings, { headers }: FastifyRequest): string | undefined {
  const start = `${cookieName(provider)}=`
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const value = pairs.find((pair) => pair.startsWith(start))?.slice(start.length)
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined
}

/** The prefix prevents other hosts of the domain from setting the cookie. */
function cookieName(provider: SamlSettings): string {
  return isSecure(provider) ? '__Host-tollgate_saml' : 'tollgate_saml'
}

function isSecure({ callback_url: callbackUrl }: SamlSettings): boolean {
  return callbackUrl.startsWith('https:')
}

function record(
  { audit, clock }: SamlDeps,
  request: FastifyRequest,
  provider: SamlSettings,
  user: SessionUser,
): Promise<void> {
  const { actor, entry } = recordOf(request, provider, { type: 'login', user })
  return audit.record(actor, clock.nowMs(), entry)
}

function recordOf(
  request: FastifyRequest,
  { name: provider }: SamlSettings,
  what: { type: 'login'; user: SessionUser } | { type: 'login_failed'; reason: string },
): { actor: Actor; entry: AuditEntry } {
  const { type } = what
  const address = request.ip
  const actor =
    what.type === 'login'
      ? ({ by: 'session', id: what.user.id, name: what.user.name, address } as const)
      : ({ by: 'open', id: '', name: '', address } as const)
  const more = what.type === 'login' ? { roles: what.user.roles } : { reason: what.reason }
  const key = `login_${actor.name || provider}`.slice(0, KEY_CHARACTERS_MAX)
  const entry = { collection: 'login', type, key, new: { protocol: 'saml', provider, ...more } }
  return { actor, entry }
}
