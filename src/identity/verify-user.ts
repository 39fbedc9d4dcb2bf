/** Checks user names and passwords sent by OAuth clients (grant `password`, RFC 6749 4.3). */
import type { LoginDeps } from './login.ts'
import { accountOf, countedAttempt } from './login.ts'
import type { VerifyUser } from './oauth/oauth-deps.ts'
import { internalLogin } from './protocols/internal.ts'
import { AuthRefusal } from './refusal.ts'
import { hasSecondFactor } from './totp/second-step.ts'

/** Counts and limits attempts like a login. */
export function createUserVerifier(deps: LoginDeps): VerifyUser {
  const { devices } = deps
  return async (username, password, { client, address, totp }) => {
    const account = accountOf('internal', username)
    try {
      const device = await devices.idOfClient(client, account)
      const who = { username, account, address, device }
      const user = await countedAttempt(deps, who, async () => {
        const found = await internalLogin(deps, username, password)
        const isProved = found !== null && (await hasSecondFactor(deps, found, totp, address))
        return isProved ? found : null
      })
      // No token for a password that must be changed.
      if (user === null || user.mustChangePassword) return null
      const { id, name, roles } = user
      // The cached user may be older than the last change.
      deps.users.forget(id)
      await devices.noteClient(client, account)
      return { id, name, roles }
    } catch (error) {
      if (error instanceof AuthRefusal && error.retryAfterSeconds !== null) {
        return { retryAfterS: error.retryAfterSeconds }
      }
      if (error instanceof AuthRefusal && error.httpStatus === 200)
        return { refused: error.message }
      throw error
    }
  }
}
