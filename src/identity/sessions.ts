/** Sessions of logged-in users. */

/** Owner of a session. */
export interface SessionUser {
  /** Document id, or the qualified id of a directory user. */
  readonly id: string
  readonly name: string
  /** Roles assigned by a directory at login; null for the current roles in the users collection. */
  readonly roles: readonly string[] | null
  /** `CurrentUser.passwordMark` at login; absent if the password is not stored here. */
  readonly passwordMark?: string
}

export interface LoginSession {
  readonly user: SessionUser
  /** Login protocol: `internal`, `ldap`, `saml`. */
  readonly protocol: string
  readonly createdMs: number
}

export interface FoundLoginSession {
  /** Identifies the session, independent of the value of the cookie; never sent to clients. */
  readonly id: string
  readonly session: LoginSession
  /** When it ends unless it is used before, epoch ms. */
  readonly idleEndMs: number
  /** When it ends however it is used, epoch ms. */
  readonly absoluteEndMs: number
  /** New value of the cookie; null if it is unchanged. */
  readonly renewed: string | null
}

/** `passive`: reading what a page updates by itself is no use of the session. */
export type SessionUse = 'active' | 'passive'

/** Each call rejects with `StoreDownError` if Redis is unavailable. */
export interface LoginSessions {
  /** Returns the value of the cookie. */
  open(user: SessionUser, protocol: string): Promise<string>
  /**
   * Finds a valid session; null if it does not exist. It is prolonged, and its cookie renewed from
   * time to time, unless the request is `passive`.
   */
  find(cookie: string, use?: SessionUse): Promise<FoundLoginSession | null>
  /** Likewise by its id; the session is not prolonged. */
  look(id: string): Promise<LoginSession | null>
  end(cookie: string): Promise<void>
  /** Ends all sessions of a user, for example after a password change, except one. */
  endAll(userId: string, exceptCookie?: string): Promise<void>
}
