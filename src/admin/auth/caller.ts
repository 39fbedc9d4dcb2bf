/** Who calls the control plane, and what it may do (interface 5; spec/entity-api.md 5.2). */
import { type Actor, plainActor } from '../../catalog/actor.ts'

/** Who has one of the roles that are asked for may; who has this one always may. */
export const ADMIN = 'admin'

export interface Caller extends Actor {
  readonly roles: readonly string[]
  /** Of a session: has to change the password before anything else. */
  readonly mustChangePassword: boolean
  /** Of a session: has to set up a second factor before anything else. */
  readonly mustEnrolTotp: boolean
}

export function mayDo({ roles }: Pick<Caller, 'roles'>, needed: readonly string[]): boolean {
  return roles.includes(ADMIN) || needed.some((role) => roles.includes(role))
}

/** Of a port that is open to whoever reaches it. */
export function openActor(address: string): Actor {
  return { by: 'open', id: '', name: '', address }
}

/** As what is written down: without what it may do. */
export function actorOf(caller: Caller): Actor {
  return plainActor(caller)
}
