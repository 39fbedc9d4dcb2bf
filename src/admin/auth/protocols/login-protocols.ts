/** All ways to log in beside `internal`, which is always there. */
import type { PasswordProtocol } from './protocol.ts'

/** By a visit to another site, which sends the user back to a route of its own. */
export interface RedirectProtocol {
  /** As in the parameter `protocol` of a login. */
  readonly type: string
  /** Where the browser has to go; `unknown`: there is no such provider. */
  begin(provider: string | undefined): Promise<{ readonly redirect: string } | 'unknown'>
}

/** What a login page offers. */
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
