/** Ways to prove a user name by a password. */
import type { SessionUser } from '../sessions.ts'

export interface PasswordProtocol {
  /** As in the parameter `protocol` of a login. */
  readonly type: string
  /**
   * Whether a directory is configured: the one of that name, or any if no name is given. Rejects
   * with `CatalogUnavailableError`.
   */
  isConfigured(provider: string | undefined): Promise<boolean>
  /**
   * `unavailable`: what knows the answer is away, and the log says why. `provider`: one of several
   * of the type; undefined: whichever knows the user.
   */
  login(
    username: string,
    password: string,
    provider: string | undefined,
  ): Promise<{ user: SessionUser } | 'refused' | 'unavailable'>
}
