/** Rules of the operator: other roles for actions of a collection, in place of the usual ones. */
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Setting } from '../../catalog/current-settings.ts'

const role = Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' })
const name = Type.String({ minLength: 1, maxLength: 64 })

/** Category `permissions` of the stored configuration. `*` is every collection, or action. */
export const PermissionsSchema = Type.Object(
  {
    rules: Type.Array(
      Type.Object(
        {
          /** Of the entity API; `api` for the actions of the action API. */
          collection: name,
          actions: Type.Array(name, { minItems: 1, maxItems: 64 }),
          /** Any of them may; `admin` always may. Nobody else if it is empty. */
          roles: Type.Array(role, { maxItems: 64, uniqueItems: true }),
        },
        { additionalProperties: false },
      ),
      { maxItems: 1000 },
    ),
  },
  { additionalProperties: false },
)

export type PermissionRules = Static<typeof PermissionsSchema>['rules']

/** Stored rules that cannot be used would open what somebody wanted closed: then only admins may. */
export const PERMISSIONS: Setting<PermissionRules> = {
  category: 'permissions',
  read(value) {
    if (value === undefined || isEmpty(value)) return []
    return Value.Check(PermissionsSchema, value) ? value.rules : ONLY_ADMINS
  },
}

const ONLY_ADMINS: PermissionRules = [{ collection: '*', actions: ['*'], roles: [] }]

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
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
