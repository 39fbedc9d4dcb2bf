/** Change of a user's own password. */

import type { Actor } from '../catalog/actor.ts'
import type { RawDocument } from '../catalog/compile/document.ts'
import { SECURITY } from '../catalog/settings/access/security-settings.ts'
import { about } from '../domain/field-errors.ts'
import { EntityRuleError } from '../requests/errors.ts'
import type { AttemptSource } from './attempts.ts'
import { accountOf, countedAttempt, type LoginDeps } from './login.ts'
import { actorOf, loginEntry } from './login-audit.ts'
import { removePasswordFile } from './password-file.ts'
import { changedPassword, checkedPassword, normalPassword } from './password-rules.ts'
import { internalLogin } from './protocols/internal.ts'
import { AuthRefusal } from './refusal.ts'
import { hasSecondFactor } from './totp/second-step.ts'
import { changeUser } from './user-write.ts'
import type { StoredUser } from './users.ts'

export interface PasswordChange {
  readonly username: string
  readonly password: string
  readonly newPassword: string
  readonly source: AttemptSource
  /** Code of the second factor. */
  readonly totp: string | null
  /** The user is logged in, which included the second factor. */
  readonly hasSession: boolean
}

/**
 * Returns the user with the new password; all sessions have ended. Null if the name or old password
 * is wrong. Rejects with `AuthRefusal` if the new password is not acceptable, or after too many
 * attempts.
 */
export async function changePassword(
  deps: LoginDeps & { dataDir: string },
  change: PasswordChange,
): Promise<StoredUser | null> {
  const { username, password, newPassword, source, totp, hasSession } = change
  const { address } = source
  const next = await usable(deps, username, newPassword)
  if (next === normalPassword(password)) {
    throw new AuthRefusal(...about('new_password', 'must not be the old one'))
  }
  const who = { ...source, username, account: accountOf('internal', username) }
  const user = await countedAttempt(deps, who, async () => {
    const found = await internalLogin(deps, username, password)
    if (found === null || hasSession) return found
    return (await hasSecondFactor(deps, found, totp, address)) ? found : null
  })
  if (user === null) return null
  await store(deps, user, await deps.passwords.hash(next), actorOf(user, address))
  const changed = await deps.users.byId(user.id)
  if (changed === null) return null
  deps.log.info({ user: username, address }, 'the password was changed')
  return changed
}

async function usable(deps: LoginDeps, username: string, password: string): Promise<string> {
  const { password: terms } = await deps.settings.get(SECURITY)
  try {
    return await checkedPassword(password, { username, charactersMin: terms.characters_min })
  } catch (error) {
    if (!(error instanceof EntityRuleError)) throw error
    const issues = error.issues.map((each) => ({ ...each, path: `new_${each.path}` }))
    throw new AuthRefusal(`new_${error.message}`, issues)
  }
}

async function store(
  deps: LoginDeps & { dataDir: string },
  user: StoredUser,
  hash: string,
  actor: Actor,
): Promise<void> {
  const { clock, users, sessions, dataDir, log } = deps
  const change = (document: RawDocument) => {
    // The password was changed after the old one was compared.
    if (document['password'] !== user.passwordHash) {
      throw new AuthRefusal('the password was changed by somebody else just now', 'refused')
    }
    return { ...document, ...changedPassword(hash, clock.nowMs()) }
  }
  const entry = loginEntry('changepassword', user.name)
  await changeUser(deps, user.id, change, { actor, entry })
  users.forget(user.id)
  await sessions.endAll(user.id)
  if (user.hasGeneratedPassword) await removePasswordFile(dataDir, log)
}
