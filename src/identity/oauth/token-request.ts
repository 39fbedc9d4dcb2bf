/** Context of one token request. */
import type { ApiClient } from '../../catalog/clients/clients.ts'
import type { SecuritySettings } from '../../catalog/settings/access/security-settings.ts'
import type { OAuthDeps } from './oauth-deps.ts'
import type { OAuthParameters } from './parameters.ts'

export interface TokenRequest {
  readonly deps: OAuthDeps
  readonly parameters: OAuthParameters
  readonly grant: string
  readonly security: SecuritySettings
  /** Null until the client is authenticated. */
  client: ApiClient | null
}
