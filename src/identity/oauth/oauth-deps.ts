/** Dependencies of OAuth 2.0. */
import type { ApiClients } from '../../catalog/clients/clients.ts'
import type { StoredSetting } from '../../catalog/settings/current-settings.ts'
import type { Tokens } from '../../store/tokens.ts'
import type { AuthDeps } from '../auth-deps.ts'
import type { UserCheck } from '../checks.ts'
import type { RefusalAudit } from '../refusal-audit.ts'

export interface VerifiedUser {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
}

/**
 * Checks the password of a user of the users collection. Null if the password is wrong or the user
 * does not exist. Limits password guessing and then returns how long to wait; `refused`: why the
 * password is not sufficient.
 */
export type VerifyUser = (
  username: string,
  password: string,
  /** Authenticated client. */
  from: {
    readonly client: string
    readonly address: string
    /** Code of the second factor. */
    readonly totp: string | null
  },
) => Promise<VerifiedUser | null | { readonly retryAfterS: number } | { readonly refused: string }>

export interface OAuthDeps extends AuthDeps {
  /** Created once by `clientsSetting`. */
  readonly clients: StoredSetting<ApiClients>
  readonly tokens: Tokens
  readonly users: UserCheck
  readonly verifyUser: VerifyUser
  readonly refusals: RefusalAudit
}
