/** The actions that a caller may do, by the rules of the operator or the usual roles. */
import type { ValueOf } from '../../catalog/entities/json-schema.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import type { RouteAccess } from '../../identity/access.ts'
import { ADMIN, type Caller, mayDo } from '../../identity/caller.ts'
import { type PermissionRules, rolesFor } from '../../identity/permission-rules.ts'
import { ACTIONS } from '../actions/table.ts'
import { CHANGE_SETTINGS, READ_SETTINGS } from '../settings/routes.ts'
import type { GRANTED_ACTION } from './answers.ts'
import { RESET_TOTP } from './totp/routes.ts'

type GrantedAction = ValueOf<typeof GRANTED_ACTION>

export type Grantee = Pick<Caller, 'roles' | 'mustChangePassword' | 'mustEnrolTotp'>

interface NamedAction {
  readonly collection: string
  readonly name: string
  readonly usual: readonly string[]
}

/** By collection and action, such as `accounts/get`; `api/credit` for `/api/credit`. */
export function grantedActions(
  rules: PermissionRules,
  grantee: Grantee,
): Record<string, GrantedAction> {
  const hasDuty = grantee.mustChangePassword || grantee.mustEnrolTotp
  const grantOf = (needed: readonly string[]): GrantedAction => {
    const permitted = !hasDuty && mayDo(grantee, needed)
    return { permitted, roles: [...new Set([...needed, ADMIN])] }
  }
  const ruled = allActions().map(({ collection, name, usual }) => {
    const needed = rolesFor(rules, collection, name, usual)
    const grant = grantOf(needed)
    const former = needed === usual ? {} : { usual: [...new Set([...usual, ADMIN])] }
    return [`${collection}/${name}`, { ...grant, ...former }] as const
  })
  const fixed = Object.entries(FIXED).map(([name, needed]) => {
    const roles = typeof needed === 'string' ? [] : needed
    return [name, { ...grantOf(roles), fixed: true }] as const
  })
  return Object.fromEntries([...ruled, ...fixed])
}

/** Endpoints whose roles no rule changes; some categories of settings need more to be read. */
const FIXED: Readonly<Record<string, RouteAccess>> = {
  'settings/get': READ_SETTINGS.access,
  'settings/set': CHANGE_SETTINGS.access,
  'totp/reset': RESET_TOTP.access,
}

function allActions(): NamedAction[] {
  const entities = [...DEFINITIONS.values()].flatMap(({ name: collection, actions }) =>
    Object.entries(actions).map(([name, { roles: usual }]) => ({ collection, name, usual })),
  )
  const others = ACTIONS.map(({ family: collection = 'api', name, access: usual }) => {
    return { collection, name, usual }
  })
  return [...entities, ...others]
}
