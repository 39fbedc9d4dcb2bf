/** Operators who log in (R34, spec/entity-api.md 3.14). */
import type { RawDocument } from '../../../catalog/compile/document.ts'
import { createCurrentSettings } from '../../../catalog/current-settings.ts'
import { SECURITY } from '../../../catalog/security-settings.ts'
import { changedPassword, checkedPassword } from '../../auth/password-rules.ts'
import { PASSWORDS } from '../../auth/passwords.ts'
import { PERMISSIONS, rolesIn } from '../../permissions/rules.ts'
import { RuleError, TargetError } from '../errors.ts'
import { exists, heldAt } from './lookups.ts'
import type { CollectionRules, RuleContext } from './rule.ts'
import { isChanged, listOf } from './values.ts'

type Lookups = Pick<RuleContext, 'catalog' | 'nowMs'>

export const USER_RULES: CollectionRules = {
  async prepare(changes, target, context) {
    const { password, username } = changes.set
    if (password === undefined) return changes
    const fields = await passwordFields(password, target?.['username'] ?? username, context)
    return { ...changes, set: { ...fields, ...changes.set, password: fields.password } }
  },

  async check(document, stored, context) {
    if (isChanged(document, stored, 'username')) checkUserName(document)
    if (isChanged(document, stored, 'roles')) await checkRoles(document, context)
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

/**
 * What is stored of a new password that somebody has thought of. Rejects with `RuleError` for one
 * that the settings refuse, or with `CatalogUnavailableError`.
 */
export async function passwordFields(
  password: unknown,
  username: unknown,
  { catalog, nowMs }: Lookups,
) {
  const settings = createCurrentSettings(catalog, { nowMs: () => nowMs }, 0)
  const { password: terms } = await settings.of(SECURITY)
  const normal = checkedPassword(password, { username, charactersMin: terms.characters_min })
  return changedPassword(await PASSWORDS.hash(normal), nowMs)
}

/** The first user of an installation. */
const FIRST_USER = 'admin'
const EMAIL = /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+$/
const EMAIL_CHARACTERS_MAX = 254

/** Throws `RuleError`. */
export function checkUserName({ username }: Readonly<Record<string, unknown>>): void {
  if (username === FIRST_USER) return
  const isEmail =
    typeof username === 'string' && username.length <= EMAIL_CHARACTERS_MAX && EMAIL.test(username)
  if (!isEmail) throw new RuleError('username must be an e-mail address')
}

const ROLES: readonly unknown[] = ['read', 'write', 'admin', 'reports']

/** Those of the interface, and those that rules of the operator name. Rejects with `RuleError`. */
export async function checkRoles(
  { roles }: Readonly<Record<string, unknown>>,
  { catalog, nowMs }: Lookups,
): Promise<void> {
  const given = listOf(roles)
  const further = given.filter((role) => !ROLES.includes(role))
  if (given.length > 0 && further.length === 0) return
  const settings = createCurrentSettings(catalog, { nowMs: () => nowMs }, 0)
  const named = further.length === 0 ? [] : rolesIn(await settings.of(PERMISSIONS))
  if (given.length > 0 && further.every((role) => named.includes(role))) return
  const all = [...new Set([...ROLES, ...named])].join(', ')
  throw new RuleError(`roles must be a list of ${all} that is not empty`)
}

export function isAdmin({ roles }: RawDocument): boolean {
  return listOf(roles).includes('admin')
}

/** R34: somebody has to be able to make users. Rejects with `TargetError`. */
export async function checkNotLast({ username }: RawDocument, context: Lookups): Promise<void> {
  const others = { username: { $ne: username }, roles: 'admin', ...heldAt(context.nowMs) }
  if (await exists(context, 'users', others)) return
  throw new TargetError(`users: ${username} is the last one with role admin`)
}
