/** Parameters of a request to the token or revocation endpoint, before authentication. */

export const OAUTH_PARAMETERS = [
  'grant_type',
  'client_id',
  'client_secret',
  'scope',
  'username',
  'password',
  'totp',
  'refresh_token',
  'token',
] as const

export type OAuthParameter = (typeof OAUTH_PARAMETERS)[number]

export interface OAuthParameters {
  /** Empty if missing. */
  readonly clientId: string
  readonly clientSecret: string
  /** Returns a parameter of the body; null if missing or empty. */
  readonly text: (name: OAuthParameter) => string | null
  readonly address: string
}
