/** Who a session belongs to, as of now. */
import type { CurrentUser } from './checks.ts'
import type { LoginSession, LoginSessions, SessionUser } from './sessions.ts'
import type { Users } from './users.ts'

export interface LoggedIn {
  readonly session: LoginSession
  readonly user: CurrentUser
  /** The value that the cookie must have from now on; null: it stays. */
  readonly renewed: string | null
}

/** Null: not logged in (any more). Rejects where a store is away. */
export type SessionCheck = (cookie: string | null) => Promise<LoggedIn | null>

/**
 * A session ends with its user, and with the password that it was opened with. The password is
 * compared by its mark, so that no clock and no order of requests matters.
 */
export function createSessionCheck(deps: { sessions: LoginSessions; users: Users }): SessionCheck {
  return async (cookie) => {
    const found = cookie === null ? null : await deps.sessions.find(cookie)
    if (found === null || cookie === null) return null
    const { session, renewed } = found
    const user = await userOf(deps.users, session)
    if (user !== null) return { session, user, renewed }
    await deps.sessions.end(renewed ?? cookie)
    return null
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
  // What is known may be older than the session: another process has just changed the password.
  users.forget(of.id)
  const fresh = await users.check(of.id)
  return fresh?.passwordMark === passwordMark ? fresh : null
}

/**
 * One that only a directory knows: it says what the user may do, and keeps the password. A second
 * factor is asked for after a password only; an identity provider (SAML) has its own.
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
