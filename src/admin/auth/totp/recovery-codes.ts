/** Recovery codes for users who have lost their authenticator; each is valid once. */
import { createHash, randomInt } from 'node:crypto'

export const RECOVERY_CODES = 10
/** Without 0, o, 1, i and l, which are easily confused. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const GROUPS = 4
const GROUP_LETTERS = 4

/** `abcd-efgh-jkmn-pqrs`: 79 bits each. */
export function newRecoveryCodes(): string[] {
  const letter = () => LETTERS.charAt(randomInt(LETTERS.length))
  const group = () => Array.from({ length: GROUP_LETTERS }, letter).join('')
  const code = () => Array.from({ length: GROUPS }, group).join('-')
  return Array.from({ length: RECOVERY_CODES }, code)
}

/** Hash to store. A slow hash is not needed: 79 random bits cannot be enumerated. */
export function recoveryHash(code: string): string {
  const plain = code.toLowerCase().replace(/[\s-]/g, '')
  return createHash('sha256').update(plain).digest('hex')
}
