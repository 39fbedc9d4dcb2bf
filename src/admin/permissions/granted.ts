/** The actions that a caller may do, by the rules of the operator or the usual roles. */
import { ACTIONS } from '../actions/table.ts'
import { ADMIN, type Caller, mayDo } from '../auth/caller.ts'
import { DEFINITIONS } from '../entities/definitions/collections.ts'
import { type PermissionRules, rolesFor } from './rules.ts'

export interface GrantedAction {
  readonly permitted: boolean
  /** One of these roles is needed. */
  readonly roles: readonly string[]
}

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
  return Object.fromEntries(
    allActions().map(({ collection, name, usual }) => {
      const needed = rolesFor(rules, collection, name, usual)
      const permitted = !hasDuty && mayDo(grantee, needed)
      return [`${collection}/${name}`, { permitted, roles: [...new Set([...needed, ADMIN])] }]
    }),
  )
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
