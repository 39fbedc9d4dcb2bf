/** `GET /auth/login`: the current user, the session, and what the user may do. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { currencyName } from '../../billing/currency.ts'
import { about } from '../../domain/field-errors.ts'
import { dateText } from '../../entities/views.ts'
import { ADMIN } from '../../identity/caller.ts'
import type { LoggedInUser } from '../../identity/login.ts'
import { protocolLabel } from '../../identity/login-fields.ts'
import { PERMISSIONS } from '../../identity/permission-rules.ts'
import { AuthRefusal } from '../../identity/refusal.ts'
import { CODE } from '../../requests/errors.ts'
import { offsetMs } from '../../runtime/clock.ts'
import { get } from '../http/endpoint.ts'
import { CURRENT_USER_ANSWER } from './answers.ts'
import { sessionCookieOf, setSessionCookie } from './cookies.ts'
import { type Grantee, grantedActions } from './granted.ts'
import type { RouteDeps } from './route-deps.ts'
import { credentialIn, failure, success } from './session-answers.ts'

/** An example of the user. */
export const EXAMPLE = {
  user: 'ops@example.org',
  permissions: ['read', 'write'],
  last_login: null,
} as const

/** With the code by which clients of the API recognise it. */
export const NOBODY = {
  ...failure('nobody is logged in', {}, 'not_logged_in'),
  code: CODE.notLoggedIn,
}

export const CURRENT_USER = get('/auth/login', {
  access: 'public',
  about: 'Show the current user, the end of the session, and what the user may do',
  request: { parameters: {}, example: {}, credentials: ['-b cookies'] },
  answer: {
    description: 'The logged-in user.',
    schema: CURRENT_USER_ANSWER,
    example: success(
      {
        ...EXAMPLE,
        protocol: 'Internal',
        idle_end: '2026-03-01T10:30:00.000Z',
        absolute_end: '2026-03-01T22:00:00.000Z',
        actions: { 'accounts/get': { permitted: true, roles: ['read', 'admin'] } },
        time_zone: 'UTC',
        clock: null,
        currency: 'EUR',
      },
      {},
    ),
    refused: ['authError'],
    others: { '403': 'forbidden', '405': 'badLogin', '503': 'unavailable' },
  },
  async run(deps: RouteDeps, request, reply) {
    const credential = credentialIn(request.url)
    if (credential !== null) {
      reply.header('allow', 'POST')
      const why = 'must be sent by POST, in the body: URLs are logged'
      throw new AuthRefusal(...about(credential, why), { httpStatus: 405 })
    }
    const answer = await currentUserAnswer(deps, request, reply)
    if (answer === null && deps.isOpen) return success(await openView(deps), {})
    return answer ?? NOBODY
  },
})

/** Null if nobody is logged in. */
export async function currentUserAnswer(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
) {
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

export function userView(user: LoggedInUser) {
  const { name, roles, lastLoginMs, mustChangePassword, mustEnrolTotp } = user
  return {
    user: name,
    permissions: roles,
    last_login: lastLoginMs === null ? null : dateText(lastLoginMs, 'UTC'),
    ...(mustChangePassword && { must_change_password: true }),
    ...(mustEnrolTotp && { must_enrol_totp: true }),
  }
}
