/** The user of the session. */
import { batch, signal } from '@preact/signals'
import { call, get } from './client.ts'
import { elapsedMs } from './clock.ts'
import { Refusal } from './errors.ts'

export interface SessionUser {
  readonly name: string
  readonly roles: readonly string[]
  readonly mustChangePassword: boolean
  readonly mustEnrolTotp: boolean
  /** By collection and action: `balances/update`, `api/report`. */
  readonly actions: Readonly<Record<string, Grant>>
}

export interface Grant {
  readonly permitted: boolean
  readonly roles: readonly string[]
  /** The roles without rules, if a rule replaces them. */
  readonly usual?: readonly string[]
  /** No rule changes them. */
  readonly fixed?: boolean
}

/** Roles of which the user needs one for an action; null if it has one, or if nothing is known. */
export function missingRoles(action: string): readonly string[] | null {
  const grant = sessionUser.value?.actions[action]
  return grant === undefined || grant.permitted ? null : grant.roles
}

/** Whether the API has an action: some collections have no `reopen`. */
export function hasAction(action: string): boolean {
  return sessionUser.value === null || Object.hasOwn(sessionUser.value.actions, action)
}

/** Zone of the node; UTC until it is known. */
export const nodeZone = signal('UTC')
/** Currency of the node (ISO 4217); null if money has none. */
export const nodeCurrency = signal<string | null>(null)

/** Time of the node when it was read, with `elapsedMs` at that instant; null in real time. */
export const nodeClock = signal<{ readonly atMs: number; readonly readMs: number } | null>(null)

/** Null while nobody is known to be logged in; the port may be open without a login. */
export const sessionUser = signal<SessionUser | null>(null)

/** Resolves with whether the caller is admitted, as far as the server has said. */
export async function readSession(): Promise<boolean> {
  try {
    const details = await get('auth/login', {}, { isQuiet: true })
    const { time_zone: zone, currency, clock } = details as Record<string, unknown>
    batch(() => {
      nodeZone.value = String(zone ?? 'UTC')
      nodeClock.value = clockOf(clock)
      nodeCurrency.value = typeof currency === 'string' ? currency : null
      sessionUser.value = userOf(details)
    })
    return true
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    sessionUser.value = null
    return error.kind !== 'login'
  }
}

export interface LoginFields {
  readonly username: string
  readonly password: string
  readonly totp?: string
}

/** Throws `Refusal`. */
export async function logIn(fields: LoginFields): Promise<SessionUser> {
  const user = userOf(await call('auth/login', fields, { isQuiet: true }))
  sessionUser.value = user
  // Only the answer to GET has the permitted actions.
  await readSession()
  return user
}

/** Throws `Refusal`. */
export async function changePassword(
  fields: LoginFields & { readonly new_password: string },
): Promise<void> {
  await call('auth/password', fields, { isQuiet: true })
}

export async function logOut(): Promise<void> {
  await call('auth/logout', {}, { isQuiet: true })
  sessionUser.value = null
}

function clockOf(clock: unknown) {
  const { now } = (clock ?? {}) as { now?: string }
  return now === undefined ? null : { atMs: Date.parse(now), readMs: elapsedMs() }
}

function userOf(details: unknown): SessionUser {
  const view = details as Record<string, unknown>
  return {
    name: String(view['user'] ?? ''),
    roles: Array.isArray(view['permissions']) ? view['permissions'].map(String) : [],
    mustChangePassword: view['must_change_password'] === true,
    mustEnrolTotp: view['must_enrol_totp'] === true,
    actions: (view['actions'] ?? {}) as SessionUser['actions'],
  }
}
