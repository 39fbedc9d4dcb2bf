/** The actions that a caller may do, by the rules of the operator or the usual roles. */
import { closed, flag, listOf, text, type ValueOf } from '../../catalog/entities/json-schema.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import { ADMIN, type Caller, mayDo } from '../../identity/caller.ts'
import { type PermissionRules, rolesFor } from '../../identity/permission-rules.ts'
import { ACTIONS } from '../actions/table.ts'

export const GRANTED_ACTION = closed(
  'An action.',
  {
    permitted: flag('Whether the user may do it.'),
    roles: listOf(text('A role.'), 'One of these roles is needed.'),
    usual: listOf(text('A role.'), 'The roles without rules, if a rule replaces them.'),
    fixed: flag('True: no rule changes the roles.'),
  },
  ['usual', 'fixed'],
)
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
    return [name, { ...grantOf(needed), fixed: true }] as const
  })
  return Object.fromEntries([...ruled, ...fixed])
}

/** Other endpoints (`../endpoints.ts`); some categories of settings need more to be read. */
const FIXED: Readonly<Record<string, readonly string[]>> = {
  'settings/get': ['read'],
  'settings/set': [ADMIN],
  'totp/reset': [ADMIN],
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
