/** Context of one token request. */
import type { OAuthParameters } from '../../admin/auth/oauth/oauth-parameters.ts'
import type { ApiClient } from '../../catalog/clients/clients.ts'
import type { SecuritySettings } from '../../catalog/settings/security-settings.ts'
import type { OAuthDeps } from './oauth-deps.ts'

export interface TokenRequest {
  readonly deps: OAuthDeps
  readonly parameters: OAuthParameters
  readonly grant: string
  readonly security: SecuritySettings
  /** Null until the client is authenticated. */
  client: ApiClient | null
}
