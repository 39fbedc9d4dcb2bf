/** What a password must be (NIST SP 800-63B: long, not common; nothing about kinds of letters). */
import { EntityRuleError } from '../entities/errors.ts'
import { isCommon } from './common-passwords.ts'

/** Longer ones would only cost time. */
export const PASSWORD_CHARACTERS_MAX = 256

export interface PasswordTerms {
  /** Whose it is to be. */
  readonly username: unknown
  /** `password.characters_min` of the settings. */
  readonly charactersMin: number
}

/** The same text however it was typed: accents have several spellings in Unicode. */
export function normalPassword(password: string): string {
  return password.normalize('NFC')
}

/**
 * The password as it is hashed. Rejects with `EntityRuleError`, which never quotes it.
 */
export async function checkedPassword(password: unknown, terms: PasswordTerms): Promise<string> {
  const { username, charactersMin } = terms
  const text = typeof password === 'string' ? password : ''
  const isShown = text.length <= 2 * PASSWORD_CHARACTERS_MAX
  const normal = isShown ? normalPassword(text) : ''
  const length = [...normal].length
  if (length < charactersMin || length > PASSWORD_CHARACTERS_MAX) {
    throw new EntityRuleError(
      `password must have ${charactersMin} to ${PASSWORD_CHARACTERS_MAX} characters`,
    )
  }
  const reason = badText(normal) ?? (await guessable(normal, username))
  if (reason !== null) throw new EntityRuleError(`password ${reason}`)
  return normal
}

/** Fields of a user whose password was changed. `mustChange`: somebody else knows it. */
export function changedPassword(hash: string, nowMs: number, mustChange = false) {
  return {
    password: hash,
    password_changed_at: new Date(nowMs),
    must_change_password: mustChange,
    password_generated: false,
  }
}

/** Why a text can be no password at all; null if it can. */
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
