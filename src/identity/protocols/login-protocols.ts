/** Login protocols other than `internal`, which is always available. */
import type { PasswordProtocol } from './protocol.ts'

/** Login by redirect to an identity provider, which sends the browser back to its own route. */
export interface RedirectProtocol {
  /** Value of the login parameter `protocol`. */
  readonly type: string
  /** Where the browser must be redirected; `unknown` if the provider does not exist. */
  begin(provider: string | undefined): Promise<{ readonly redirect: string } | 'unknown'>
}

/** Entry of the login page. */
export interface LoginOption {
  readonly type: string
  readonly label: string
  readonly name: string
}

export interface LoginProtocols {
  readonly password: readonly PasswordProtocol[]
  readonly redirect: readonly RedirectProtocol[]
  options(): Promise<readonly LoginOption[]>
}
