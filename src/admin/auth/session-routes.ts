/** `/auth/login`, `/auth/logout`, `/auth/options`, `/auth/password`. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { text } from '../../catalog/entities/json-schema.ts'
import { missing } from '../../domain/field-errors.ts'
import { type AttemptSource, createAttempts } from '../../identity/attempts.ts'
import type { AuthDeps } from '../../identity/auth-deps.ts'
import { createDevices } from '../../identity/devices.ts'
import { createKnownNames } from '../../identity/known-names.ts'
import {
  accountOf,
  login as checkLogin,
  notConfigured,
  tooMany,
  WRONG_CREDENTIALS,
} from '../../identity/login.ts'
import { actorOf, auditLogin } from '../../identity/login-audit.ts'
import {
  inputOf,
  type LoginFields,
  type LoginInput,
  loginFields,
  passwordIn,
  totpIn,
  usernameIn,
} from '../../identity/login-fields.ts'
import { changePassword } from '../../identity/password-change.ts'
import { PASSWORDS } from '../../identity/passwords.ts'
import { AuthRefusal } from '../../identity/refusal.ts'
import { createRefusalAudit, HOUR_MS } from '../../identity/refusal-audit.ts'
import { createSessionCheck } from '../../identity/session-check.ts'
import type { Users } from '../../identity/users.ts'

import { LOGIN_BODY_BYTES_MAX } from '../../requests/json-limits.ts'
import { errorHandler } from '../http/answer.ts'
import { succeeded } from '../http/answer-schema.ts'
import { registerBodies } from '../http/body.ts'
import { addEndpoints, get, post } from '../http/endpoint.ts'
import { DONE_ANSWER, LOGIN_ANSWER, LOGIN_OPTIONS } from './answers.ts'
import {
  clearSessionCookie,
  sessionCookieOf,
  setDeviceCookie,
  setSessionCookie,
} from './cookies.ts'
import { CURRENT_USER, currentUserAnswer, EXAMPLE, NOBODY, userView } from './current-user.ts'
import type { RouteDeps, SessionRouteDeps } from './route-deps.ts'
import { bodyOf, COMPARING, failure, sourceOf, success } from './session-answers.ts'
import { TOTP_ENDPOINTS } from './totp/routes.ts'

/** Processor time of comparing a password, about. */
const PASSWORD_MS = 50

const login = post('/auth/login', {
  access: 'public',
  about: 'Log in',
  config: { poolMs: PASSWORD_MS },
  request: {
    parameters: {
      username: text('Name of the user.'),
      password: text('Password of the user; never in the query string.'),
      protocol: text('`internal` (default), `ldap` or `saml`.'),
      provider: text('Name of a configured provider of that protocol.'),
      totp: text('Code of the second factor, or a recovery code, if required.'),
    },
    example: { username: EXAMPLE.user, password: 'correct-horse-battery' },
    credentials: ['-c cookies'],
  },
  answer: {
    description: 'A session was opened.',
    schema: LOGIN_ANSWER,
    example: success(EXAMPLE, { username: EXAMPLE.user, protocol: 'Internal' }),
    ...COMPARING,
  },
  async run(deps: RouteDeps, request, reply) {
    const { values } = await bodyOf(request, reply)
    const fields = loginFields(values)
    const input = inputOf(fields)
    const redirect = deps.protocols.redirect.find(({ type }) => type === fields.protocol)
    if (redirect !== undefined) {
      const refused = await deps.attempts.admit({ address: deps.addressOf(request), device: null })
      if (refused !== null) throw tooMany(refused)
      const begun = await redirect.begin(fields.provider)
      if (begun !== 'unknown') return success({ redirect: begun.redirect }, input)
      throw new AuthRefusal(
        notConfigured(fields.protocol, fields.provider),
        { path: 'protocol' },
        { httpStatus: 400 },
      )
    }
    const { username, password } = fields
    if (username === null && password === null) {
      return (await currentUserAnswer(deps, request, reply)) ?? NOBODY
    }
    if (username === null || password === null) {
      return missingFailure({ username, password }, input)
    }
    return openSession(deps, { ...fields, username, password }, request, reply)
  },
})

/** The text is about the first one that is missing. */
function missingFailure(required: Readonly<Record<string, string | null>>, input: LoginInput) {
  const absent = Object.keys(required).filter((name) => required[name] === null)
  return failure(`${absent[0]} is missing`, input, missing(absent))
}

async function openSession(
  deps: RouteDeps,
  fields: LoginFields & { username: string; password: string },
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const input = inputOf(fields)
  const account = accountOf(fields.protocol, fields.username)
  const source = await sourceOf(deps, request, account)
  const done = await checkLogin(deps, fields, source)
  if ('wrong' in done) return failure(done.wrong, input)
  // The session that the browser had before the login is never continued.
  const before = sessionCookieOf(request)
  if (before !== null) await deps.sessions.end(before)
  setSessionCookie(reply, done.cookie)
  await rememberDevice(deps, reply, account, source)
  return success(userView(done.user), input)
}

const logout = post('/auth/logout', {
  access: 'public',
  about: 'End the session',
  request: { parameters: {}, example: {}, credentials: ['-b cookies'] },
  answer: {
    description: 'The session has ended.',
    schema: DONE_ANSWER,
    example: success(true, {}),
    others: { '403': 'forbidden', '503': 'unavailable' },
  },
  async run(deps: RouteDeps, request, reply) {
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
  },
})

const options = get('/auth/options', {
  access: 'public',
  about: 'List the login methods',
  request: { parameters: {}, example: {}, credentials: [] },
  answer: {
    description: 'Login methods.',
    schema: LOGIN_OPTIONS,
    example: succeeded({ protocols: [{ type: 'ldap', label: 'Staff', name: 'corp' }] }),
    others: { '403': 'forbidden', '503': 'unavailable' },
  },
  async run({ protocols }: RouteDeps) {
    return succeeded({ protocols: await protocols.options() })
  },
})

const password = post('/auth/password', {
  access: 'public',
  about: 'Change the password of the current user',
  config: { poolMs: PASSWORD_MS },
  request: {
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
  answer: {
    description: 'The password was changed.',
    schema: DONE_ANSWER,
    example: success(true, { username: EXAMPLE.user }),
    ...COMPARING,
  },
  async run(deps: RouteDeps, request, reply) {
    const { values } = await bodyOf(request, reply)
    const found = await deps.loggedIn(sessionCookieOf(request))
    const username = usernameIn(values) ?? found?.user.name ?? null
    const password = passwordIn(values, 'password')
    const newPassword = passwordIn(values, 'new_password')
    const required = { username, password, new_password: newPassword }
    const input = username === null ? {} : { username }
    if (username === null || password === null || newPassword === null) {
      return missingFailure(required, input)
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
  },
})

export const SESSION_ENDPOINTS = [login, CURRENT_USER, logout, options, password, ...TOTP_ENDPOINTS]

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
    routes.addHook('preHandler', async (_, reply) => {
      reply.header('cache-control', 'no-store')
    })
    const spelled = SESSION_ENDPOINTS.flatMap((each) =>
      spellingsOf(each.path).map((path) => ({ ...each, path })),
    )
    addEndpoints(routes, spelled, deps)
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
function spellingsOf(path: string): readonly string[] {
  const name = path.slice('/auth/'.length)
  const capital = name.charAt(0).toUpperCase() + name.slice(1)
  return ['auth', 'Auth'].flatMap((first) => [`/${first}/${name}`, `/${first}/${capital}`])
}
