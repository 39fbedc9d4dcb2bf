/** Login by user name and password. */
import { ObjectId } from '../catalog/collections.ts'
import type { Attempt, AttemptSource, LoginAttempts, RefusedAttempt } from './attempts.ts'
import type { AuthDeps } from './auth-deps.ts'
import type { Devices } from './devices.ts'
import type { KnownUserNames } from './known-names.ts'
import { actorOf, auditLogin, loginKey } from './login-audit.ts'
import type { LoginFields } from './login-fields.ts'
import type { Passwords } from './passwords.ts'
import { internalLogin } from './protocols/internal.ts'
import type { LoginProtocols } from './protocols/login-protocols.ts'
import { AuthRefusal } from './refusal.ts'
import type { RefusalAudit } from './refusal-audit.ts'
import type { LoginSessions, SessionUser } from './sessions.ts'
import type { SecondFactors } from './totp/factors.ts'
import { hasSecondFactor, WRONG_CODE } from './totp/second-step.ts'
import type { Users } from './users.ts'

export interface LoginDeps extends AuthDeps {
  readonly sessions: LoginSessions
  readonly users: Users
  readonly factors: SecondFactors
  readonly passwords: Passwords
  readonly attempts: LoginAttempts
  readonly devices: Devices
  readonly names: KnownUserNames
  readonly refusals: RefusalAudit
  readonly protocols: Pick<LoginProtocols, 'password' | 'redirect'>
}

export interface AttemptedLogin extends AttemptSource {
  readonly username: string
  /** Key under which attempts are counted: `accountOf`. */
  readonly account: string
  /** Reason recorded for a wrong attempt; `wrong` by default. */
  readonly reasonOf?: () => string
}

export interface LoginResult {
  /** Value of the session cookie. */
  readonly cookie: string
  readonly user: LoggedInUser
}

export interface LoggedInUser {
  readonly name: string
  readonly roles: readonly string[]
  readonly mustChangePassword: boolean
  readonly mustEnrolTotp: boolean
  /** Time of the previous login; null if there was none or the user exists only in a directory. */
  readonly lastLoginMs: number | null
}

/** The same text for an unknown name and for a wrong password. */
export const WRONG_CREDENTIALS = 'the user name or the password is wrong'

/**
 * Opens a session, or returns why the credentials are `wrong`. Rejects with `AuthRefusal` for too
 * many attempts, a missing code, an unknown or unavailable protocol; with the errors of the stores
 * otherwise.
 */
export async function login(
  deps: LoginDeps,
  fields: LoginFields & { username: string; password: string },
  source: AttemptSource,
): Promise<LoginResult | { readonly wrong: string }> {
  const { username, password, protocol, provider, totp } = fields
  const { address } = source
  const check = await passwordCheck(deps, protocol, provider)
  const account = accountOf(protocol, username)
  let wrong = WRONG_CREDENTIALS
  const reasonOf = () => (wrong === WRONG_CREDENTIALS ? 'wrong' : 'wrong_code')
  const who = { ...source, username, account, reasonOf }
  const found = await countedAttempt(deps, who, async () => {
    const user = await check(username, password)
    if (user === null) return null
    if (await hasSecondFactor(deps, user.sessionUser, totp, address)) return user
    wrong = WRONG_CODE
    return null
  })
  if (found === null) return { wrong }
  const { user, sessionUser } = found
  const actor = actorOf(sessionUser, address)
  await auditLogin(deps, actor, 'login', username, { protocol })
  await storeLastLogin(deps, sessionUser)
  if (protocol !== 'internal') await deps.names.add(account)
  const cookie = await deps.sessions.open(sessionUser, protocol)
  deps.log.info({ user: user.name, address, protocol }, 'login')
  return { cookie, user }
}

/**
 * Key under which attempts of a name are counted. Directories compare names without regard to case,
 * many without regard to accents: otherwise each spelling would have its own attempts. The protocol
 * is part of the key because a directory and the users collection may have the same name.
 */
export function accountOf(protocol: string, username: string): string {
  if (protocol === 'internal') return username
  const folded = username.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase()
  return `${protocol}\0${folded}`
}

interface AuthenticatedUser {
  readonly user: LoggedInUser
  readonly sessionUser: SessionUser
}

type PasswordCheck = (username: string, password: string) => Promise<AuthenticatedUser | null>

/** Rejects with `AuthRefusal` for an unknown protocol or provider. */
async function passwordCheck(
  deps: LoginDeps,
  type: string,
  provider: string | undefined,
): Promise<PasswordCheck> {
  if (type === 'internal') return (username, password) => internalUser(deps, username, password)
  const protocol = deps.protocols.password.find((each) => each.type === type)
  if (protocol === undefined) {
    throw new AuthRefusal(
      `protocol ${type} is not known`,
      { path: 'protocol', code: 'unknown' },
      { httpStatus: 400 },
    )
  }
  if (!(await protocol.isConfigured(provider))) {
    throw new AuthRefusal(notConfigured(type, provider), { path: 'protocol' }, { httpStatus: 400 })
  }
  return async (username, password) => {
    const answer = await protocol.login(username, password, provider)
    if (answer === 'unavailable') {
      throw new AuthRefusal(`protocol ${type} is unavailable now`, 'unavailable', {
        httpStatus: 503,
      })
    }
    return answer === 'refused' ? null : authenticatedUserOf(deps, answer.user)
  }
}

/** Why a protocol cannot be used. `provider`: as requested. */
export function notConfigured(type: string, provider: string | undefined): string {
  const missing = provider === undefined ? 'no provider' : 'no provider of this name'
  return `protocol ${type}: ${missing} is configured; GET /auth/options lists those that are`
}

async function internalUser(
  deps: LoginDeps,
  username: string,
  password: string,
): Promise<AuthenticatedUser | null> {
  const user = await internalLogin(deps, username, password)
  if (user === null) return null
  const { id, name, passwordMark } = user
  // The cached user may be older than the last change.
  deps.users.forget(id)
  return { user, sessionUser: { id, name, roles: null, passwordMark } }
}

/** A directory either assigns roles, or identifies a user of the users collection. */
async function authenticatedUserOf(
  deps: LoginDeps,
  sessionUser: SessionUser,
): Promise<AuthenticatedUser | null> {
  const { id, name, roles } = sessionUser
  if (roles === null) {
    const user = await deps.users.byId(id)
    return user === null ? null : { user, sessionUser }
  }
  const duties = {
    mustChangePassword: false,
    mustEnrolTotp: await deps.users.mustEnrolTotp(id, roles),
  }
  return { user: { name, roles, ...duties, lastLoginMs: null }, sessionUser }
}

/**
 * Runs one password attempt and counts it. Null if it was wrong, which is audited. Rejects with
 * `AuthRefusal` 429 after too many attempts.
 */
export async function countedAttempt<T>(
  deps: LoginDeps,
  who: AttemptedLogin,
  check: () => Promise<T | null>,
): Promise<T | null> {
  const fail = (reason: string) => recordRefusal(deps, who, reason)
  const attempt = await beginAttempt(deps, who, fail)
  let result: T | null
  try {
    result = await check()
  } catch (error) {
    await attempt.cancelled()
    throw error
  }
  if (result !== null) {
    await attempt.succeeded()
    return result
  }
  await attempt.failed()
  await fail(who.reasonOf?.() ?? 'wrong')
  return null
}

async function beginAttempt(
  { attempts }: LoginDeps,
  who: AttemptedLogin,
  fail: (reason: string) => Promise<void>,
): Promise<Attempt> {
  const over = await attempts.admit(who)
  const begun = over === null ? await attempts.begin(who.account, who) : { refused: over }
  if (!('refused' in begun)) return begun
  const { refused } = begun
  await fail(refused.reason)
  throw tooMany(refused)
}

const UNKNOWN = '(unknown)'

/** An unknown name is not recorded: it may be a password. */
async function recordRefusal(
  { names, refusals }: LoginDeps,
  { username, account, address }: AttemptedLogin,
  reason: string,
): Promise<void> {
  const isKnown = await names.has(username, account)
  const name = isKnown ? username : ''
  const key = loginKey(isKnown ? username : UNKNOWN)
  await refusals.record({
    entry: { collection: 'login', type: 'login_failed', key, new: { reason } },
    actor: { by: 'open', id: '', name, address },
    account: isKnown ? account : '',
    reason,
  })
}

const WRONG_TRIES = 'too many wrong attempts: wait before the next one'
const TOO_MANY: Readonly<Record<RefusedAttempt['reason'], string>> = {
  address: 'too many logins from this address: wait before the next one',
  locked: WRONG_TRIES,
  slowed: WRONG_TRIES,
  account:
    'too many wrong attempts for this user: wait, log in from a browser that has logged in ' +
    'before, or ask an operator (tollgate user unlock)',
}

export function tooMany({ reason, retryAfterMs }: RefusedAttempt): AuthRefusal {
  return new AuthRefusal(TOO_MANY[reason], 'too_many', { httpStatus: 429, retryAfterMs })
}

/** Without a new revision: the user entity has not been changed. */
async function storeLastLogin({ catalog, clock }: LoginDeps, user: SessionUser): Promise<void> {
  if (user.roles !== null) return
  const last_login = new Date(clock.nowMs())
  await catalog.users.updateOne({ _id: new ObjectId(user.id) }, { $set: { last_login } })
}
