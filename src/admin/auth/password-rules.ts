/** What a password must be (NIST SP 800-63B: long, not common; nothing about kinds of letters). */
import { RuleError } from '../entities/errors.ts'

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

/** The password as it is hashed. Throws `RuleError`, which never quotes it. */
export function checkedPassword(password: unknown, terms: PasswordTerms): string {
  const { username, charactersMin } = terms
  const text = typeof password === 'string' ? password : ''
  const isShown = text.length <= 2 * PASSWORD_CHARACTERS_MAX
  const normal = isShown ? normalPassword(text) : ''
  const length = [...normal].length
  if (length < charactersMin || length > PASSWORD_CHARACTERS_MAX) {
    throw new RuleError(
      `password must have ${charactersMin} to ${PASSWORD_CHARACTERS_MAX} characters`,
    )
  }
  const reason = badText(normal) ?? guessable(normal, username)
  if (reason !== null) throw new RuleError(`password ${reason}`)
  return normal
}

/** Fields of a user with a password that somebody has thought of. */
export function changedPassword(hash: string, nowMs: number) {
  return {
    password: hash,
    password_changed_at: new Date(nowMs),
    must_change_password: false,
    password_generated: false,
  }
}

/** Why a text can be no password at all; null if it can. */
export function badText(text: string): string | null {
  if (text.includes('\0')) return 'must have no zero byte'
  return /\p{Surrogate}/u.test(text) ? 'must be Unicode' : null
}

function guessable(password: string, username: unknown): string | null {
  const lower = password.toLowerCase()
  const name = String(username).toLowerCase()
  if (lower === name || lower === name.replace(/@.*$/s, '')) return 'must not be the user name'
  if (COMMON.has(lower) || /^(.)\1*$/su.test(lower)) return 'is one of the most common ones'
  return null
}

/** Those that guessing begins with, of eight characters and more. */
const COMMON: ReadonlySet<string> = new Set([
  ...['password', 'password1', 'password12', 'password123', 'password1234', 'password!'],
  ...['password1!', 'passw0rd', 'p@ssw0rd', 'p@ssword', 'p@ssw0rd1', 'passwort', 'motdepasse'],
  ...['12345678', '123456789', '1234567890', '87654321', '987654321', '0987654321', '0123456789'],
  ...['11223344', '12341234', '123123123', '12344321', '123454321', '1q2w3e4r', '1q2w3e4r5t'],
  ...['1qaz2wsx', 'qwertyui', 'qwertyuiop', 'qwerty12', 'qwerty123', 'qwerty1234', 'qwertz123'],
  ...['asdfghjkl', 'asdfasdf', 'zaq12wsx', 'abcd1234', 'abc12345', 'abcdefgh', 'a1b2c3d4'],
  ...['iloveyou', 'sunshine', 'princess', 'football', 'baseball', 'superman', 'trustno1'],
  ...['changeme', 'changeme1', 'changeme123', 'letmein1', 'welcome1', 'welcome123', 'whatever'],
  ...['admin123', 'admin1234', 'admin12345', 'administrator', 'root1234', 'secret123'],
  ...['default1', 'tollgate', 'tollgate1', 'tollgate123', 'computer', 'internet', 'dragon123'],
])
