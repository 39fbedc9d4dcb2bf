/** Permission rules of the operator: they replace the usual roles of an action. */
import { Value } from '@sinclair/typebox/value'
import {
  type PermissionSettings,
  PermissionsSchema,
} from '../catalog/settings/access/permission-settings.ts'
import type { StoredSetting } from '../catalog/settings/current-settings.ts'

export type PermissionRules = NonNullable<PermissionSettings['rules']>

/** Invalid stored rules may have been meant to restrict access: only admins are permitted. */
export const PERMISSIONS: StoredSetting<PermissionRules> = {
  category: 'permissions',
  read(value) {
    if (value === undefined) return []
    return Value.Check(PermissionsSchema, value) ? (value.rules ?? []) : ONLY_ADMINS
  },
}

const ONLY_ADMINS: PermissionRules = [{ collection: '*', actions: '*', roles: [] }]

/** Roles named in the rules, in addition to the built-in ones. */
export function rolesIn(rules: PermissionRules): readonly unknown[] {
  return rules.flatMap(({ roles }) => roles)
}

/** Roles for an action: those of the first matching rule, otherwise the usual ones. */
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
