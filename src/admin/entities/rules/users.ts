/** Operators who log in (R34, spec/entity-api.md 3.14). */
import { hash } from '@node-rs/argon2'
import type { RawDocument } from '../../../catalog/compile/document.ts'
import { RuleError, TargetError } from '../errors.ts'
import { exists, heldAt } from './lookups.ts'
import type { CollectionRules, RuleContext } from './rule.ts'
import { isChanged, listOf } from './values.ts'

export const USER_RULES: CollectionRules = {
  async prepare(changes) {
    const { password } = changes.set
    if (password === undefined) return changes
    return { ...changes, set: { ...changes.set, password: await hashPassword(password) } }
  },

  async check(document, stored, context) {
    if (isChanged(document, stored, 'username')) checkName(document)
    if (isChanged(document, stored, 'roles')) checkRoles(document)
    if (stored !== null && isAdmin(stored) && !isAdmin(document)) {
      await checkNotLast(document, context)
    }
  },

  /** Also a user does not delete himself. */
  async checkUnused(document, context) {
    const { username } = document
    if (username === context.user) {
      throw new TargetError(`users: nobody deletes the own user (${username})`)
    }
    if (isAdmin(document)) await checkNotLast(document, context)
  },
}

const CHARACTERS_MIN = 8
/** Longer ones would only cost time. */
const CHARACTERS_MAX = 256
/** What OWASP asks of argon2id, which is what `hash` makes: memory in KiB, and passes over it. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** As it is stored. Throws `RuleError` for one that is too short or too long. */
export async function hashPassword(password: unknown): Promise<string> {
  const length = typeof password === 'string' ? [...password].length : 0
  if (typeof password !== 'string' || length < CHARACTERS_MIN || length > CHARACTERS_MAX) {
    const text = `password must have ${CHARACTERS_MIN} to ${CHARACTERS_MAX} characters`
    throw new RuleError(text)
  }
  return hash(password, COST)
}

/** The first user of an installation. */
const FIRST_USER = 'admin'
const EMAIL = /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+$/
const EMAIL_CHARACTERS_MAX = 254

function checkName({ username }: RawDocument): void {
  if (username === FIRST_USER) return
  const isEmail =
    typeof username === 'string' && username.length <= EMAIL_CHARACTERS_MAX && EMAIL.test(username)
  if (!isEmail) throw new RuleError('username must be an e-mail address')
}

const ROLES: readonly unknown[] = ['read', 'write', 'admin', 'reports']

function checkRoles({ roles }: RawDocument): void {
  const given = listOf(roles)
  if (given.length > 0 && given.every((role) => ROLES.includes(role))) return
  throw new RuleError(`roles must be a list of ${ROLES.join(', ')} that is not empty`)
}

function isAdmin({ roles }: RawDocument): boolean {
  return listOf(roles).includes('admin')
}

/** R34: somebody has to be able to make users. */
async function checkNotLast({ username }: RawDocument, context: RuleContext): Promise<void> {
  const others = { username: { $ne: username }, roles: 'admin', ...heldAt(context.nowMs) }
  if (await exists(context, 'users', others)) return
  throw new TargetError(`users: ${username} is the last one with role admin`)
}
