/** Audit entries of logins. */
import type { Actor } from '../catalog/actor.ts'
import type { AuditEntry } from '../catalog/audit/audit.ts'
import type { AuthDeps } from './auth-deps.ts'
import type { SessionUser } from './sessions.ts'

const KEY_CHARACTERS_MAX = 128

/** Key of the audit entries of a user name. */
export function loginKey(username: string): string {
  return `login_${username}`.slice(0, KEY_CHARACTERS_MAX)
}

/** Adds an audit entry of `login`, never with a password. */
export async function auditLogin(
  { audit, clock }: Pick<AuthDeps, 'audit' | 'clock'>,
  actor: Actor,
  type: string,
  username: string,
  more: Readonly<Record<string, unknown>> | null = null,
): Promise<void> {
  await audit.record(actor, clock.nowMs(), loginEntry(type, username, more))
}

export function loginEntry(
  type: string,
  username: string,
  more: Readonly<Record<string, unknown>> | null = null,
): AuditEntry {
  return { collection: 'login', type, key: loginKey(username), new: more }
}

export function actorOf({ id, name }: Pick<SessionUser, 'id' | 'name'>, address: string): Actor {
  return { by: 'session', id, name, address }
}
