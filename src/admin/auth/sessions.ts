/** Sessions of users who have logged in (interface section 5.1). */

/** Whom a session belongs to. */
export interface SessionUser {
  /** Id of the document, or what a directory knows the user by. */
  readonly id: string
  readonly name: string
  /** Roles that a directory gave at login; null: those that the users collection has now. */
  readonly roles: readonly string[] | null
  /** `UserNow.passwordMark` at login; absent where no password is stored here. */
  readonly passwordMark?: string
}

export interface LoginSession {
  readonly user: SessionUser
  /** Of login: `internal`, `ldap`, `saml`. */
  readonly protocol: string
  readonly createdMs: number
}

export interface FoundLoginSession {
  readonly session: LoginSession
  /** The value that the cookie must have from now on; null: it stays. */
  readonly renewed: string | null
}

/** Each call rejects with `StoreDownError` where Redis is away. */
export interface LoginSessions {
  /** Gives the value of the cookie. */
  open(user: SessionUser, protocol: string): Promise<string>
  /** Null: none that is still good. Prolongs it. */
  find(cookie: string): Promise<FoundLoginSession | null>
  end(cookie: string): Promise<void>
  /** Ends all of a user, such as after a change of the password; but for one. */
  endAll(userId: string, exceptCookie?: string): Promise<void>
}
