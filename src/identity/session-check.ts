/** Current user of a session. */
import type { CurrentUser } from './checks.ts'
import type {
  FoundLoginSession,
  LoginSession,
  LoginSessions,
  SessionUse,
  SessionUser,
} from './sessions.ts'
import type { Users } from './users.ts'

export interface LoggedIn extends FoundLoginSession {
  readonly user: CurrentUser
}

/** Null if the session is unknown or has ended. Rejects if a store is unavailable. */
export type SessionCheck = (cookie: string | null, use?: SessionUse) => Promise<LoggedIn | null>

/** User of a session by its id, likewise; the session is not prolonged. */
export type SessionLook = (id: string) => Promise<CurrentUser | null>

/**
 * A session ends with its user, and with the password with which it was opened. Passwords are
 * compared by a fingerprint, independent of clocks and of the order of requests.
 */
export function createSessionCheck(deps: { sessions: LoginSessions; users: Users }): SessionCheck {
  return async (cookie, use) => {
    const found = cookie === null ? null : await deps.sessions.find(cookie, use)
    if (found === null || cookie === null) return null
    const { session, renewed } = found
    const user = await userOf(deps.users, session)
    if (user !== null) return { ...found, user }
    await deps.sessions.end(renewed ?? cookie)
    return null
  }
}

export function createSessionLook(deps: { sessions: LoginSessions; users: Users }): SessionLook {
  return async (id) => {
    const session = await deps.sessions.look(id)
    return session === null ? null : userOf(deps.users, session)
  }
}

async function userOf(
  users: Users,
  { user: of, protocol }: LoginSession,
): Promise<CurrentUser | null> {
  if (of.roles !== null) return directoryUser(users, protocol, of, of.roles)
  const { passwordMark } = of
  const user = await users.check(of.id)
  const isSame = passwordMark === undefined || user?.passwordMark === passwordMark
  if (user === null || isSame) return user
  // The cached user may be older than the session if another process has just changed the password.
  users.forget(of.id)
  const fresh = await users.check(of.id)
  return fresh?.passwordMark === passwordMark ? fresh : null
}

/**
 * A user who exists only in a directory, which assigns roles and checks the password. A second
 * factor applies to passwords only; identity providers (SAML) have their own.
 */
async function directoryUser(
  users: Users,
  protocol: string,
  { id, name }: SessionUser,
  roles: readonly string[],
): Promise<CurrentUser> {
  const password = { mustChangePassword: false, hasGeneratedPassword: false, passwordMark: '' }
  const mustEnrolTotp = protocol !== 'saml' && (await users.mustEnrolTotp(id, roles))
  return { id, name, roles, ...password, mustEnrolTotp }
}
