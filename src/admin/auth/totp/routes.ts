/** `/auth/totp`: users manage their second factor; an administrator can reset it. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SECURITY } from '../../../catalog/settings/access/security-settings.ts'
import { dateText } from '../../../entities/views.ts'
import { ADMIN, actorOf as actorOfCaller, mayDo } from '../../../identity/caller.ts'
import { accountOf, countedAttempt } from '../../../identity/login.ts'
import { actorOf, auditLogin } from '../../../identity/login-audit.ts'
import { totpIn, usernameIn } from '../../../identity/login-fields.ts'
import { AuthRefusal } from '../../../identity/refusal.ts'
import type { LoggedIn } from '../../../identity/session-check.ts'
import { enrolmentUri } from '../../../identity/totp/codes.ts'
import { WRONG_CODE } from '../../../identity/totp/second-step.ts'
import { sessionCookieOf, setSessionCookie } from '../cookies.ts'
import type { LoginRoute, RouteDeps } from '../route-deps.ts'
import { bodyOf, sourceOf, success } from '../session-answers.ts'

/** Paths below `/auth`. */
export const TOTP_ROUTES: readonly LoginRoute[] = [
  { method: 'GET', name: 'totp', answer: answerState },
  { method: 'POST', name: 'totp/begin', answer: answerBegin },
  { method: 'POST', name: 'totp/confirm', answer: answerConfirm },
  { method: 'POST', name: 'totp/codes', answer: answerCodes },
  { method: 'POST', name: 'totp/remove', answer: answerRemove },
  { method: 'POST', name: 'totp/reset', access: [ADMIN], answer: answerReset },
]

async function answerState(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply) {
  const { user, session } = await userOf(deps, request, reply)
  const { isEnrolled, enrolledMs, recoveryCodesLeft } = await deps.factors.state(user.id)
  const details = {
    enrolled: isEnrolled,
    enrolled_at: enrolledMs === null ? null : dateText(enrolledMs, 'UTC'),
    recovery_codes_left: recoveryCodesLeft,
    required: await isRequired(deps, user.roles, session.protocol),
  }
  return success(details, {})
}

/** The secret is shown once. An existing factor must be proved and stays active until `confirm`. */
async function answerBegin(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply) {
  const { values } = await bodyOf(request, reply)
  const who = await userOf(deps, request, reply)
  const { id, name } = who.user
  const { isEnrolled, enrolledMs } = await deps.factors.state(id)
  if (isEnrolled) await prove(deps, request, who, totpIn(values))
  const secret = await deps.factors.begin(id, name, enrolledMs)
  const { issuer } = (await deps.settings.get(SECURITY)).totp
  return success({ secret, uri: enrolmentUri(secret, name, issuer) }, {})
}

/** From now on each login requires a code; other sessions, opened without one, end. */
async function answerConfirm(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply) {
  const { values } = await bodyOf(request, reply)
  const who = await userOf(deps, request, reply)
  const { id } = who.user
  // Not counted as an attempt: the user knows the secret, and a correct code would reset the count
  // of wrong ones.
  const codes = await deps.factors.confirm(id, requiredCode(totpIn(values)))
  if (codes === null) throw new AuthRefusal(WRONG_CODE)
  deps.users.forget(id)
  await deps.sessions.endAll(id, who.renewed ?? sessionCookieOf(request) ?? undefined)
  await auditChange(deps, request, who, 'totp_enrolled')
  return success({ recovery_codes: codes }, {})
}

async function answerCodes(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply) {
  const { values } = await bodyOf(request, reply)
  const who = await userOf(deps, request, reply)
  await prove(deps, request, who, totpIn(values))
  const codes = await deps.factors.renewRecoveryCodes(who.user.id)
  await auditChange(deps, request, who, 'totp_codes')
  return success({ recovery_codes: codes }, {})
}

async function answerRemove(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply) {
  const { values } = await bodyOf(request, reply)
  const who = await userOf(deps, request, reply)
  if (await isRequired(deps, who.user.roles, who.session.protocol)) {
    throw new AuthRefusal('a role of the user requires the second factor: it cannot be removed')
  }
  await prove(deps, request, who, totpIn(values))
  await deps.factors.remove(who.user.id)
  deps.users.forget(who.user.id)
  await auditChange(deps, request, who, 'totp_removed')
  return success(true, {})
}

/** For any user, by role `admin`, if the authenticator and the recovery codes are lost. */
async function answerReset(deps: RouteDeps, request: FastifyRequest, reply: FastifyReply) {
  const { caller } = request
  if (!caller || !mayDo(caller, [])) throw new AuthRefusal(`this takes role ${ADMIN}`)
  const { values } = await bodyOf(request, reply)
  const username = usernameIn(values)
  if (username === null) throw new AuthRefusal('username is missing')
  const ids = await deps.factors.idsOf(username)
  if (ids.length === 0) throw new AuthRefusal('there is no second factor of that user')
  const nowMs = deps.clock.nowMs()
  const entry = { collection: 'login', type: 'totp_reset', key: `login_${username}` }
  await deps.audit.record(actorOfCaller(caller), nowMs, entry)
  for (const id of ids) {
    await deps.factors.remove(id)
    deps.users.forget(id)
    await deps.sessions.endAll(id)
  }
  return success(true, { username })
}

/** Rejects with `AuthRefusal` if nobody is logged in, or if the password must be changed first. */
async function userOf(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<LoggedIn> {
  const found = await deps.loggedIn(sessionCookieOf(request))
  if (found === null) throw new AuthRefusal('nobody is logged in')
  if (found.renewed !== null) setSessionCookie(reply, found.renewed)
  if (found.user.mustChangePassword) {
    throw new AuthRefusal('the password must be changed first: POST /auth/password')
  }
  if (found.session.protocol === 'saml') {
    throw new AuthRefusal('the identity provider of this user asks for second factors')
  }
  return found
}

async function isRequired(
  { settings }: RouteDeps,
  roles: readonly string[],
  protocol: string,
): Promise<boolean> {
  const { required_roles: required } = (await settings.get(SECURITY)).totp
  return protocol !== 'saml' && required.some((role) => roles.includes(role))
}

/** Consumes a code; a wrong one counts as a wrong password. Rejects with `AuthRefusal`. */
async function prove(
  deps: RouteDeps,
  request: FastifyRequest,
  { user, session }: LoggedIn,
  code: string | null,
): Promise<void> {
  const text = requiredCode(code)
  const account = accountOf(session.protocol, user.name)
  const source = await sourceOf(deps, request, account)
  const attempt = { ...source, username: user.name, account, reasonOf: () => 'wrong_code' }
  const proof = await countedAttempt(deps, attempt, () => deps.factors.prove(user.id, text))
  if (proof === null) throw new AuthRefusal(WRONG_CODE)
}

function requiredCode(code: string | null): string {
  if (code === null) throw new AuthRefusal('totp is missing')
  return code
}

async function auditChange(
  deps: RouteDeps,
  request: FastifyRequest,
  { user }: LoggedIn,
  type: string,
) {
  const address = deps.addressOf(request)
  deps.log.info({ user: user.name, address, type }, 'the second factor was changed')
  await auditLogin(deps, actorOf(user, address), type, user.name)
}
