/** `/auth/login`, `/auth/logout`, `/auth/options`, `/auth/password`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { currencyName } from '../../billing/currency.ts'
import { dateText } from '../../entities/views.ts'
import { type AttemptSource, createAttempts } from '../../identity/attempts.ts'
import type { AuthDeps } from '../../identity/auth-deps.ts'
import { ADMIN } from '../../identity/caller.ts'
import { createDevices } from '../../identity/devices.ts'
import { createKnownNames } from '../../identity/known-names.ts'
import {
  accountOf,
  type LoggedInUser,
  login,
  notConfigured,
  tooMany,
  WRONG_CREDENTIALS,
} from '../../identity/login.ts'
import { actorOf, auditLogin } from '../../identity/login-audit.ts'
import {
  inputOf,
  type LoginFields,
  loginFields,
  passwordIn,
  protocolLabel,
  totpIn,
  usernameIn,
} from '../../identity/login-fields.ts'
import { changePassword } from '../../identity/password-change.ts'
import { PASSWORDS } from '../../identity/passwords.ts'
import { PERMISSIONS } from '../../identity/permission-rules.ts'
import { AuthRefusal } from '../../identity/refusal.ts'
import { createRefusalAudit, HOUR_MS } from '../../identity/refusal-audit.ts'
import { createSessionCheck } from '../../identity/session-check.ts'
import type { Users } from '../../identity/users.ts'
import { CODE } from '../../requests/errors.ts'
import { LOGIN_BODY_BYTES_MAX } from '../../requests/json-limits.ts'
import { offsetMs } from '../../runtime/clock.ts'
import { errorHandler } from '../http/answer.ts'
import { registerBodies } from '../http/body.ts'
import { type Grantee, grantedActions } from '../permissions/granted.ts'
import {
  clearSessionCookie,
  sessionCookieOf,
  setDeviceCookie,
  setSessionCookie,
} from './cookies.ts'
import type { LoginRoute, RouteDeps, SessionRouteDeps } from './route-deps.ts'
import { bodyOf, credentialIn, failure, sourceOf, success } from './session-answers.ts'
import { TOTP_ROUTES } from './totp/routes.ts'

/** Processor time of comparing a password, about. */
const PASSWORD_MS = 50

const ROUTES: readonly LoginRoute[] = [
  { method: 'GET', name: 'login', answer: answerCurrentUser },
  { method: 'POST', name: 'login', answer: answerLogin, poolMs: PASSWORD_MS },
  { method: 'POST', name: 'logout', answer: answerLogout },
  { method: 'GET', name: 'options', answer: answerOptions },
  { method: 'POST', name: 'password', answer: answerPassword, poolMs: PASSWORD_MS },
  ...TOTP_ROUTES,
]

/** Under `/auth` and `/Auth`, the last segment in lower case or capitalised. */
export function addSessionRoutes(server: FastifyInstance, provided: SessionRouteDeps): void {
  const defaults = {
    isOpen: false,
    passwords: PASSWORDS,
    addressOf: (request: FastifyRequest) => request.ip,
  }
  const deps: RouteDeps = {
    ...defaults,
    ...provided,
    ...createLoginProtection(provided),
    loggedIn: createSessionCheck(provided),
  }
  server.register(async (routes) => {
    registerBodies(routes, LOGIN_BODY_BYTES_MAX)
    const answerError = errorHandler(provided.log)
    routes.setErrorHandler((error, request, reply) => {
      const seconds = error instanceof AuthRefusal ? error.retryAfterSeconds : null
      if (seconds !== null) reply.header('retry-after', seconds)
      return answerError(error, request, reply)
    })
    for (const { method, name, access = 'public', answer, poolMs } of ROUTES) {
      for (const url of spellingsOf(name)) {
        routes.route({
          method,
          url,
          config: { access, ...(poolMs !== undefined && { poolMs }) },
          handler: (request, reply) => {
            reply.header('cache-control', 'no-store')
            return answer(deps, request, reply)
          },
        })
      }
    }
  })
}

/** Limits password guessing and records it. */
export function createLoginProtection(deps: AuthDeps & { users: Users }) {
  return {
    attempts: createAttempts(deps),
    devices: createDevices(deps),
    names: createKnownNames(deps),
    refusals: createRefusalAudit(deps, { periodMs: HOUR_MS, message: 'login refused' }),
  }
}

/** Registers the device for the account. */
async function rememberDevice(
  { devices }: RouteDeps,
  reply: FastifyReply,
  account: string,
  { device }: AttemptSource,
): Promise<void> {
  setDeviceCookie(reply, account, await devices.issue(account, device))
}

/** Clients use both spellings. */
function spellingsOf(name: string): readonly string[] {
  const capital = name.charAt(0).toUpperCase() + name.slice(1)
  return ['auth', 'Auth'].flatMap((first) => [`/${first}/${name}`, `/${first}/${capital}`])
}

/** With the code by which clients of the API recognise it. */
const NOBODY = { ...failure('nobody is logged in', {}), code: CODE.notLoggedIn }

async function answerCurrentUser(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const credential = credentialIn(request.url)
  if (credential !== null) {
    reply.header('allow', 'POST')
    const text = `${credential} must be sent by POST, in the body: URLs are logged`
    throw new AuthRefusal(text, { httpStatus: 405 })
  }
  const answer = await currentUserAnswer(deps, request, reply)
  if (answer === null && deps.isOpen) return success(await openView(deps), {})
  return answer ?? NOBODY
}

/** Null if nobody is logged in. */
async function currentUserAnswer(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object | null> {
  const found = await deps.loggedIn(sessionCookieOf(request))
  if (found === null) return null
  const { session, user, renewed } = found
  if (renewed !== null) setSessionCookie(reply, renewed)
  const stored = session.user.roles === null ? await deps.users.byId(user.id) : null
  const details = {
    ...userView({ ...user, lastLoginMs: stored?.lastLoginMs ?? null }),
    protocol: protocolLabel(session.protocol),
    idle_end: new Date(found.idleEndMs).toISOString(),
    absolute_end: new Date(found.absoluteEndMs).toISOString(),
    ...(await grantsAndUnits(deps, user)),
  }
  return success(details, {})
}

/** A caller without a session of a port that is open without authentication. */
async function openView(deps: RouteDeps) {
  const none = { mustChangePassword: false, mustEnrolTotp: false }
  const user = { name: '', roles: [ADMIN], lastLoginMs: null, ...none }
  return {
    ...userView(user),
    protocol: 'Open',
    idle_end: null,
    absolute_end: null,
    ...(await grantsAndUnits(deps, user)),
  }
}

/** The actions that the user may do, and in what the node counts time and money. */
async function grantsAndUnits(deps: RouteDeps, user: Grantee) {
  const { settings, config } = deps
  return {
    time_zone: config.rating.timeZone,
    clock: clockView(deps),
    actions: grantedActions(await settings.get(PERMISSIONS), user),
    currency: currencyName(config.rating.currencyCode),
  }
}

/** Null for a clock that shows the real time. */
function clockView({ config, installationClock }: RouteDeps) {
  if (installationClock?.ahead === undefined) return null
  return {
    now: new Date(installationClock.nowMs()).toISOString(),
    ahead_ms: offsetMs(installationClock.ahead),
    test: config.clock.test,
  }
}

async function answerLogin(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const { values } = await bodyOf(request, reply)
  const fields = loginFields(values)
  const input = inputOf(fields)
  const redirect = deps.protocols.redirect.find(({ type }) => type === fields.protocol)
  if (redirect !== undefined) {
    const refused = await deps.attempts.admit({ address: deps.addressOf(request), device: null })
    if (refused !== null) throw tooMany(refused)
    const begun = await redirect.begin(fields.provider)
    if (begun !== 'unknown') return success({ redirect: begun.redirect }, input)
    throw new AuthRefusal(notConfigured(fields.protocol, fields.provider), { httpStatus: 400 })
  }
  const { username, password } = fields
  if (username === null && password === null) {
    return (await currentUserAnswer(deps, request, reply)) ?? NOBODY
  }
  if (username === null || password === null) {
    return failure(`${username === null ? 'username' : 'password'} is missing`, input)
  }
  return openSession(deps, { ...fields, username, password }, request, reply)
}

async function openSession(
  deps: RouteDeps,
  fields: LoginFields & { username: string; password: string },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const input = inputOf(fields)
  const account = accountOf(fields.protocol, fields.username)
  const source = await sourceOf(deps, request, account)
  const done = await login(deps, fields, source)
  if ('wrong' in done) return failure(done.wrong, input)
  // The session that the browser had before the login is never continued.
  const before = sessionCookieOf(request)
  if (before !== null) await deps.sessions.end(before)
  setSessionCookie(reply, done.cookie)
  await rememberDevice(deps, reply, account, source)
  return success(userView(done.user), input)
}

async function answerLogout(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const cookie = sessionCookieOf(request)
  const found = cookie === null ? null : await deps.sessions.find(cookie)
  if (cookie !== null) await deps.sessions.end(cookie)
  clearSessionCookie(reply)
  if (found !== null) {
    const { user } = found.session
    const address = deps.addressOf(request)
    deps.log.info({ user: user.name, address }, 'logout')
    await auditLogin(deps, actorOf(user, address), 'logout', user.name)
  }
  return success(true, {})
}

async function answerOptions({ protocols }: RouteDeps): Promise<object> {
  const { options } = protocols
  return { status: 1, desc: 'success', details: { protocols: await options() } }
}

async function answerPassword(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const { values } = await bodyOf(request, reply)
  const found = await deps.loggedIn(sessionCookieOf(request))
  const username = usernameIn(values) ?? found?.user.name ?? null
  const password = passwordIn(values, 'password')
  const newPassword = passwordIn(values, 'new_password')
  const missing = { username, password, new_password: newPassword }
  const [name] = Object.entries(missing).find(([, value]) => value === null) ?? []
  const input = username === null ? {} : { username }
  if (username === null || password === null || newPassword === null) {
    return failure(`${name} is missing`, input)
  }
  if (found !== null && (found.session.user.roles !== null || username !== found.user.name)) {
    return failure('only users of this installation can change their password', input)
  }
  const account = accountOf('internal', username)
  const source = await sourceOf(deps, request, account)
  const hasSession = found !== null
  const change = { username, password, newPassword, source, totp: totpIn(values), hasSession }
  const changed = await changePassword(deps, change)
  if (changed === null) return failure(WRONG_CREDENTIALS, input)
  if (found !== null) {
    const { id, name: user, passwordMark } = changed
    const sessionUser = { id, name: user, roles: null, passwordMark }
    setSessionCookie(reply, await deps.sessions.open(sessionUser, found.session.protocol))
  }
  await rememberDevice(deps, reply, account, source)
  return success(true, input)
}

function userView(user: LoggedInUser) {
  const { name, roles, lastLoginMs, mustChangePassword, mustEnrolTotp } = user
  return {
    user: name,
    permissions: roles,
    last_login: lastLoginMs === null ? null : dateText(lastLoginMs, 'UTC'),
    ...(mustChangePassword && { must_change_password: true }),
    ...(mustEnrolTotp && { must_enrol_totp: true }),
  }
}
