/** Rules for operators who log in. */

import type { RawDocument } from '../../catalog/compile/document.ts'
import { validAt } from '../../catalog/revisions/validity.ts'
import { SECURITY } from '../../catalog/settings/access/security-settings.ts'
import { createCurrentSettings } from '../../catalog/settings/current-settings.ts'
import { isEmail } from '../../domain/email.ts'
import type { Fields } from '../../domain/fields.ts'
import { changedPassword, checkedPassword } from '../../identity/password-rules.ts'
import { PASSWORDS } from '../../identity/passwords.ts'
import { PERMISSIONS, rolesIn } from '../../identity/permission-rules.ts'
import { EntityRuleError, fieldRule, TargetError } from '../../requests/errors.ts'
import { checkAll } from '../trial.ts'
import { exists } from './lookups.ts'
import type { CollectionRules, RuleContext } from './rule.ts'
import { isChanged, listOf } from './values.ts'

type Lookups = Pick<RuleContext, 'catalog' | 'nowMs'>

export const USER_RULES: CollectionRules = {
  async prepare(changes, target, context) {
    const { password, username } = changes.set
    const name = target?.['username'] ?? username
    const terms = await passwordTerms(context)
    const isOwn = isBy(context, name)
    const mustChange = terms.change_given && !isOwn
    const isSet = password !== undefined || target?.['must_change_password'] === true
    if (mustChange && isSet && changes.set['must_change_password'] === false) {
      throw new EntityRuleError(MUST_CHANGE, { path: 'must_change_password' })
    }
    if (password === undefined) return changes
    const { isRefused = false, nowMs } = context
    // Hashing takes long: what else may be refused is checked before.
    if (!isRefused) await checkNameAndRoles({ ...target, ...changes.set }, target, context)
    const normal = await checkedPassword(password, {
      username: name,
      charactersMin: terms.characters_min,
    })
    const hash = isRefused ? NOT_STORED : await PASSWORDS.hash(normal)
    const fields = changedPassword(hash, nowMs, mustChange)
    return { ...changes, set: { ...fields, ...changes.set, password: hash } }
  },

  async check(document, stored, context) {
    await checkNameAndRoles(document, stored, context)
    if (stored !== null && isAdmin(stored) && !isAdmin(document)) {
      await checkNotLast(document, context)
    }
  },

  /** In addition, users cannot delete themselves. */
  async checkUnused(document, context) {
    const { username } = document
    if (isBy(context, username)) {
      throw new TargetError(`users: a user cannot delete itself (${username})`)
    }
    if (isAdmin(document)) await checkNotLast(document, context)
  },
}

/** In place of the hash, in a write that is refused. */
const NOT_STORED = 'not hashed'

function checkNameAndRoles(
  document: Fields,
  stored: Fields | null,
  lookups: Lookups,
): Promise<void> {
  return checkAll([
    () => isChanged(document, stored, 'username') && checkUserName(document),
    () => isChanged(document, stored, 'roles') && checkRoles(document, lookups),
  ])
}

/** Whether the caller has logged in as this user. */
function isBy({ actor }: Pick<RuleContext, 'actor'>, username: unknown): boolean {
  return actor.by === 'session' && actor.name === username
}

const MUST_CHANGE =
  'must_change_password can only be cleared by the user, with POST /auth/password ' +
  '(unless the setting security.password.change_given is false)'

/**
 * The stored fields of a new password. `mustChange`: somebody other than the user has chosen it.
 * Rejects with `EntityRuleError` if the settings refuse it, or with `CatalogUnavailableError`.
 */
export async function passwordFields(
  password: unknown,
  username: unknown,
  lookups: Lookups,
  mustChange: boolean,
) {
  const { characters_min: charactersMin } = await passwordTerms(lookups)
  const normal = await checkedPassword(password, { username, charactersMin })
  return changedPassword(await PASSWORDS.hash(normal), lookups.nowMs, mustChange)
}

/** The password policy in the settings. */
export async function passwordTerms({ catalog, nowMs }: Lookups) {
  const settings = createCurrentSettings(catalog, { nowMs: () => nowMs }, 0)
  return (await settings.get(SECURITY)).password
}

/** The first user of an installation. */
const FIRST_USER = 'admin'

/** Throws `EntityRuleError`. */
export function checkUserName({ username }: Readonly<Record<string, unknown>>): void {
  if (username === FIRST_USER) return
  if (typeof username !== 'string' || !isEmail(username))
    throw fieldRule('username', 'must be an e-mail address')
}

const ROLES: readonly unknown[] = ['read', 'write', 'admin', 'reports']

/**
 * Allows the built-in roles and those in the permission settings. Rejects with `EntityRuleError`.
 */
export async function checkRoles(
  { roles }: Readonly<Record<string, unknown>>,
  { catalog, nowMs }: Lookups,
): Promise<void> {
  const roleNames = listOf(roles)
  const further = roleNames.filter((role) => !ROLES.includes(role))
  if (roleNames.length > 0 && further.length === 0) return
  const settings = createCurrentSettings(catalog, { nowMs: () => nowMs }, 0)
  const named = further.length === 0 ? [] : rolesIn(await settings.get(PERMISSIONS))
  if (roleNames.length > 0 && further.every((role) => named.includes(role))) return
  const all = [...new Set([...ROLES, ...named])].join(', ')
  throw fieldRule('roles', `must be a list of ${all} that is not empty`)
}

export function isAdmin({ roles }: RawDocument): boolean {
  return listOf(roles).includes('admin')
}

/** At least one user must be able to create users. Rejects with `TargetError`. */
export async function checkNotLast({ username }: RawDocument, context: Lookups): Promise<void> {
  const others = { username: { $ne: username }, roles: 'admin', ...validAt(context.nowMs) }
  if (await exists(context, 'users', others)) return
  throw new TargetError(`users: ${username} is the last one with role admin`)
}
