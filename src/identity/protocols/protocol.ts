/** Login protocols that check a user name and password. */
import type { SessionUser } from '../sessions.ts'

export interface PasswordProtocol {
  /** Value of the login parameter `protocol`. */
  readonly type: string
  /**
   * Whether a directory of that name, or any directory if no name is given, is configured. Rejects
   * with `CatalogUnavailableError`.
   */
  isConfigured(provider: string | undefined): Promise<boolean>
  /**
   * `unavailable`: the directory does not answer; the reason is logged. `provider`: name of a
   * directory; undefined to try all of them.
   */
  login(
    username: string,
    password: string,
    provider: string | undefined,
  ): Promise<{ user: SessionUser } | 'refused' | 'unavailable'>
}
