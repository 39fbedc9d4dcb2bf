/** `/auth/totp`: users manage their second factor; an administrator can reset it. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { text } from '../../../catalog/entities/json-schema.ts'
import { SECURITY } from '../../../catalog/settings/access/security-settings.ts'
import { about } from '../../../domain/field-errors.ts'
import { dateText } from '../../../entities/views.ts'
import { ADMIN, actorOf as actorOfCaller, mayDo } from '../../../identity/caller.ts'
import { accountOf, countedAttempt } from '../../../identity/login.ts'
import { actorOf, auditLogin } from '../../../identity/login-audit.ts'
import { totpIn, usernameIn } from '../../../identity/login-fields.ts'
import { AuthRefusal } from '../../../identity/refusal.ts'
import type { LoggedIn } from '../../../identity/session-check.ts'
import { enrolmentUri } from '../../../identity/totp/codes.ts'
import { WRONG_CODE } from '../../../identity/totp/second-step.ts'
import { get, post } from '../../http/endpoint.ts'
import { DONE_ANSWER, RECOVERY_CODES, TOTP_SECRET, TOTP_STATE } from '../answers.ts'
import { sessionCookieOf, setSessionCookie } from '../cookies.ts'
import type { RouteDeps } from '../route-deps.ts'
import { bodyOf, COMPARING, sourceOf, success } from '../session-answers.ts'

type Declared<A> = Parameters<typeof post<RouteDeps, A>>[1]

/** An endpoint of the current user that takes a code, described by `takes`. */
const coded = <A>(
  name: string,
  takes: string,
  {
    required = ['totp'],
    run,
    ...declared
  }: Pick<Declared<A>, 'about' | 'answer'> & {
    readonly required?: readonly string[]
    run(
      deps: RouteDeps,
      request: FastifyRequest,
      who: LoggedIn,
      code: string | null,
    ): Promise<NoInfer<A>>
  },
) =>
  post<RouteDeps, A>(`/auth/totp/${name}`, {
    access: 'public',
    ...declared,
    request: {
      parameters: { totp: text(takes) },
      required,
      example: { totp: '287082' },
      credentials: ['-b cookies'],
    },
    async run(deps, request, reply) {
      const { values } = await bodyOf(request, reply)
      return run(deps, request, await userOf(deps, request, reply), totpIn(values))
    },
  })

const CODES = {
  description: 'The recovery codes.',
  schema: RECOVERY_CODES,
  example: success({ recovery_codes: ['7k2m-9qxd'] }, {}),
  ...COMPARING,
}

const REMOVED = {
  description: 'The second factor was removed.',
  schema: DONE_ANSWER,
  example: success(true, {}),
  ...COMPARING,
}

const show = get('/auth/totp', {
  access: 'public',
  about: 'Show the second factor of the current user',
  request: { parameters: {}, example: {}, credentials: ['-b cookies'] },
  answer: {
    description: 'The second factor of the user.',
    schema: TOTP_STATE,
    example: success(
      { enrolled: false, enrolled_at: null, recovery_codes_left: 0, required: true },
      {},
    ),
    refused: ['authError'],
    others: { '403': 'forbidden', '503': 'unavailable' },
  },
  async run(deps: RouteDeps, request, reply) {
    const { user, session } = await userOf(deps, request, reply)
    const { isEnrolled, enrolledMs, recoveryCodesLeft } = await deps.factors.state(user.id)
    const details = {
      enrolled: isEnrolled,
      enrolled_at: enrolledMs === null ? null : dateText(enrolledMs, 'UTC'),
      recovery_codes_left: recoveryCodesLeft,
      required: await isRequired(deps, user.roles, session.protocol),
    }
    return success(details, {})
  },
})

/** The secret is shown once. An existing factor must be proved, and is active until `confirm`. */
const begin = coded('begin', 'Code of the existing factor, or a recovery code.', {
  about: 'Begin to set up a second factor; returns its secret once',
  required: [],
  answer: {
    description: 'The secret of a second factor.',
    schema: TOTP_SECRET,
    example: success(
      {
        secret: 'JBSWY3DPEHPK3PXP',
        uri: 'otpauth://totp/Tollgate:ops?secret=JBSWY3DPEHPK3PXP',
      },
      {},
    ),
    ...COMPARING,
  },
  async run(deps, request, who, code) {
    const { id, name } = who.user
    const { isEnrolled, enrolledMs } = await deps.factors.state(id)
    if (isEnrolled) await prove(deps, request, who, code)
    const secret = await deps.factors.begin(id, name, enrolledMs)
    const { issuer } = (await deps.settings.get(SECURITY)).totp
    return success({ secret, uri: enrolmentUri(secret, name, issuer) }, {})
  },
})

/** From now on each login requires a code; other sessions, opened without one, end. */
const confirm = coded('confirm', 'Code of the new factor.', {
  about: 'Confirm the second factor by a code; returns the recovery codes',
  answer: CODES,
  async run(deps, request, who, code) {
    const { id } = who.user
    // Not counted as an attempt: the user knows the secret, and a correct code would reset the
    // count of wrong ones.
    const codes = await deps.factors.confirm(id, requiredCode(code))
    if (codes === null) throw new AuthRefusal(WRONG_CODE, 'refused')
    deps.users.forget(id)
    await deps.sessions.endAll(id, who.renewed ?? sessionCookieOf(request) ?? undefined)
    await auditChange(deps, request, who, 'totp_enrolled')
    return success({ recovery_codes: codes }, {})
  },
})

const renew = coded('codes', 'Code of the factor, or a recovery code.', {
  about: 'Replace the recovery codes',
  answer: CODES,
  async run(deps, request, who, code) {
    await prove(deps, request, who, code)
    const codes = await deps.factors.renewRecoveryCodes(who.user.id)
    await auditChange(deps, request, who, 'totp_codes')
    return success({ recovery_codes: codes }, {})
  },
})

const remove = coded('remove', 'Code of the factor, or a recovery code.', {
  about: 'Remove the second factor of the current user, unless a role requires it',
  answer: REMOVED,
  async run(deps, request, who, code) {
    if (await isRequired(deps, who.user.roles, who.session.protocol)) {
      throw new AuthRefusal(
        'a role of the user requires the second factor: it cannot be removed',
        'refused',
      )
    }
    await prove(deps, request, who, code)
    await deps.factors.remove(who.user.id)
    deps.users.forget(who.user.id)
    await auditChange(deps, request, who, 'totp_removed')
    return success(true, {})
  },
})

/** For any user, if the authenticator and the recovery codes are lost. */
export const RESET_TOTP = post('/auth/totp/reset', {
  access: [ADMIN],
  about: 'Remove the second factor of a user who has lost it',
  request: {
    parameters: { username: text('Name of the user.') },
    required: ['username'],
    example: { username: 'ops@example.org' },
  },
  answer: {
    ...REMOVED,
    refused: ['authError', 'ruleError', 'permissionError', 'loginError'],
    others: {
      '400': 'badLogin',
      '401': 'badToken',
      '403': 'forbidden',
      '413': 'tooLarge',
      '503': 'loginUnavailable',
    },
  },
  async run(deps: RouteDeps, request, reply) {
    const { caller } = request
    if (!caller || !mayDo(caller, []))
      throw new AuthRefusal(`this takes role ${ADMIN}`, 'not_allowed')
    const { values } = await bodyOf(request, reply)
    const username = usernameIn(values)
    if (username === null) throw new AuthRefusal(...about('username', 'is missing', 'missing'))
    const ids = await deps.factors.idsOf(username)
    if (ids.length === 0) throw new AuthRefusal('there is no second factor of that user', 'target')
    const nowMs = deps.clock.nowMs()
    const entry = { collection: 'login', type: 'totp_reset', key: `login_${username}` }
    await deps.audit.record(actorOfCaller(caller), nowMs, entry)
    for (const id of ids) {
      await deps.factors.remove(id)
      deps.users.forget(id)
      await deps.sessions.endAll(id)
    }
    return success(true, { username })
  },
})

export const TOTP_ENDPOINTS = [show, begin, confirm, renew, remove, RESET_TOTP]

/** Rejects with `AuthRefusal` if nobody is logged in, or if the password must be changed first. */
async function userOf(
  deps: RouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<LoggedIn> {
  const found = await deps.loggedIn(sessionCookieOf(request))
  if (found === null) throw new AuthRefusal('nobody is logged in', 'not_logged_in')
  if (found.renewed !== null) setSessionCookie(reply, found.renewed)
  if (found.user.mustChangePassword) {
    throw new AuthRefusal('the password must be changed first: POST /auth/password', 'refused')
  }
  if (found.session.protocol === 'saml') {
    throw new AuthRefusal('the identity provider of this user asks for second factors', 'refused')
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
  if (proof === null) throw new AuthRefusal(WRONG_CODE, 'refused')
}

function requiredCode(code: string | null): string {
  if (code === null) throw new AuthRefusal(...about('totp', 'is missing', 'missing'))
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
