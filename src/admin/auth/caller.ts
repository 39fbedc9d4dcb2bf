/** Who calls the control plane, and what it may do (interface section 5; spec/entity-api.md 5.2). */
import type { Actor } from '../../catalog/actor.ts'

/** Who has one of the roles that are asked for may; who has this one always may. */
export const ADMIN = 'admin'

export interface Caller extends Actor {
  readonly roles: readonly string[]
  /** Of a session: has to change the password before anything else. */
  readonly mustChangePassword: boolean
}

export function mayDo({ roles }: Pick<Caller, 'roles'>, needed: readonly string[]): boolean {
  return roles.includes(ADMIN) || needed.some((role) => roles.includes(role))
}

/** As what is written down: without what it may do. */
export function actorOf({ by, id, name, address }: Caller): Actor {
  return { by, id, name, address }
}
