/** Caller of the control plane and its permissions. */
import { type Actor, plainActor } from '../catalog/actor.ts'

/** This role satisfies every role requirement. */
export const ADMIN = 'admin'

export interface Caller extends Actor {
  readonly roles: readonly string[]
  /** Session users only: the password must be changed before anything else. */
  readonly mustChangePassword: boolean
  /** Session users only: a second factor must be set up before anything else. */
  readonly mustEnrolTotp: boolean
  /** Session users only: id of the session. */
  readonly sessionId?: string
}

export function mayDo({ roles }: Pick<Caller, 'roles'>, needed: readonly string[]): boolean {
  return roles.includes(ADMIN) || needed.some((role) => roles.includes(role))
}

/** Caller of a port that is open without authentication. */
export function openActor(address: string): Actor {
  return { by: 'open', id: '', name: '', address }
}

/** The actor for the audit, without the caller's roles. */
export function actorOf(caller: Caller): Actor {
  return plainActor(caller)
}
