/** Dependencies of the routes under `/auth`. */
import type { FastifyRequest } from 'fastify'
import type { AuthDeps } from '../../identity/auth-deps.ts'
import type { LoginDeps } from '../../identity/login.ts'
import type { Passwords } from '../../identity/passwords.ts'
import type { LoginProtocols } from '../../identity/protocols/login-protocols.ts'
import type { SessionCheck } from '../../identity/session-check.ts'
import type { LoginSessions } from '../../identity/sessions.ts'
import type { SecondFactors } from '../../identity/totp/factors.ts'
import type { Users } from '../../identity/users.ts'

export interface SessionRouteDeps extends AuthDeps {
  readonly sessions: LoginSessions
  readonly users: Users
  readonly factors: SecondFactors
  readonly protocols: LoginProtocols
  /** Folder for the file with the generated password of the first admin. */
  readonly dataDir: string
  /** Whether the operator has opened the port to unauthenticated callers; false by default. */
  readonly isOpen?: boolean
  /** `PASSWORDS` by default. */
  readonly passwords?: Passwords
  /** Address of the client; the remote address of the connection by default. */
  readonly addressOf?: (request: FastifyRequest) => string
}

export interface RouteDeps
  extends LoginDeps,
    Required<Omit<SessionRouteDeps, 'installationClock'>> {
  readonly protocols: LoginProtocols
  readonly loggedIn: SessionCheck
}
