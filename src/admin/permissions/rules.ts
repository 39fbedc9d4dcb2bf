/** Rules of the operator: other roles for actions of a collection, in place of the usual ones. */
import { Value } from '@sinclair/typebox/value'
import type { StoredSetting } from '../../catalog/settings/current-settings.ts'
import {
  type PermissionSettings,
  PermissionsSchema,
} from '../../catalog/settings/permission-settings.ts'

type PermissionRules = NonNullable<PermissionSettings['rules']>

/** Stored rules that cannot be used might have closed something: then only admins may. */
export const PERMISSIONS: StoredSetting<PermissionRules> = {
  category: 'permissions',
  read(value) {
    if (value === undefined) return []
    return Value.Check(PermissionsSchema, value) ? (value.rules ?? []) : ONLY_ADMINS
  },
}

const ONLY_ADMINS: PermissionRules = [{ collection: '*', actions: '*', roles: [] }]

/** Roles that are named there, beside those of the interface. */
export function rolesIn(rules: PermissionRules): readonly unknown[] {
  return rules.flatMap(({ roles }) => roles)
}

/** Roles that an action takes: those of the first rule that names it, else the usual ones. */
export function rolesFor(
  rules: PermissionRules,
  collection: string,
  action: string,
  usual: readonly string[],
): readonly string[] {
  const rule = rules.find(
    ({ collection: named, actions }) =>
      (named === '*' || named === collection) &&
      (actions.includes('*') || actions.includes(action)),
  )
  return rule?.roles ?? usual
}
