/** Password policy (NIST SP 800-63B: long, not common; no composition rules). */
import { fieldRule } from '../requests/errors.ts'
import { isCommon } from './common-passwords.ts'

/** Longer passwords only cost computation time. */
export const PASSWORD_CHARACTERS_MAX = 256

export interface PasswordTerms {
  /** User name of the owner. */
  readonly username: unknown
  /** Setting `password.characters_min`. */
  readonly charactersMin: number
}

/** Normalises the Unicode spelling of accents, which depends on the keyboard. */
export function normalPassword(password: string): string {
  return password.normalize('NFC')
}

/** Returns the password as it is hashed. Rejects with `EntityRuleError`, which never quotes it. */
export async function checkedPassword(password: unknown, terms: PasswordTerms): Promise<string> {
  const { username, charactersMin } = terms
  const text = typeof password === 'string' ? password : ''
  const hasUsableLength = text.length <= 2 * PASSWORD_CHARACTERS_MAX
  const normal = hasUsableLength ? normalPassword(text) : ''
  const length = [...normal].length
  if (length < charactersMin || length > PASSWORD_CHARACTERS_MAX) {
    throw fieldRule(
      'password',
      `must have ${charactersMin} to ${PASSWORD_CHARACTERS_MAX} characters`,
    )
  }
  const reason = badText(normal) ?? (await guessable(normal, username))
  if (reason !== null) throw fieldRule('password', `${reason}`)
  return normal
}

/** Fields of a user with a changed password. `mustChange`: somebody else knows the password. */
export function changedPassword(hash: string, nowMs: number, mustChange = false) {
  return {
    password: hash,
    password_changed_at: new Date(nowMs),
    must_change_password: mustChange,
    password_generated: false,
  }
}

/** Why a text cannot be a password at all; null if it can. */
export function badText(text: string): string | null {
  if (text.includes('\0')) return 'must have no zero byte'
  return /\p{Surrogate}/u.test(text) ? 'must be Unicode' : null
}

async function guessable(password: string, username: unknown): Promise<string | null> {
  const lower = password.toLowerCase()
  const name = String(username).toLowerCase()
  if (lower === name || lower === name.replace(/@.*$/s, '')) return 'must not be the user name'
  if (/^tollgate[\P{L}]*$/u.test(lower)) return 'must not be the name of the product'
  return (await isCommon(lower)) ? 'is one of the most common ones' : null
}
