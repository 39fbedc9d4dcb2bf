/**
 * Whether a typed name is a user name. Any other text may be a password typed into the wrong field
 * and is not logged.
 */
import { createHash } from 'node:crypto'
import type { AuthDeps } from './auth-deps.ts'
import type { Users } from './users.ts'

export interface KnownUserNames {
  /**
   * `account`: the key under which attempts of the name are counted. Rejects if a store is
   * unavailable.
   */
  has(username: string, account: string): Promise<boolean>
  /** Remembers a directory user who has logged in. */
  add(account: string): Promise<void>
}

/** After half a year without a login, the directory may no longer have the user. */
const NOTED_MS = 180 * 24 * 3_600_000
const CACHED_MS = 60_000
const CACHED_MAX = 10_000

export function createKnownNames({
  users,
  keys,
  clock,
}: Pick<AuthDeps, 'keys' | 'clock'> & { users: Pick<Users, 'byName'> }): KnownUserNames {
  // Refused requests may be numerous and must be cheap.
  const cached = new Map<string, { isKnown: boolean; readMs: number }>()
  return {
    async has(username, account) {
      const key = keyOf(account)
      const nowMs = clock.nowMs()
      const last = cached.get(key)
      if (last !== undefined && Math.abs(nowMs - last.readMs) < CACHED_MS) return last.isKnown
      const isKnown = (await users.byName(username)) !== null || (await keys.get(key)) !== null
      if (cached.size >= CACHED_MAX) cached.clear()
      cached.set(key, { isKnown, readMs: nowMs })
      return isKnown
    },
    add: (account) => keys.set(keyOf(account), '1', NOTED_MS),
  }
}

function keyOf(account: string): string {
  return `directory-user:${createHash('sha256').update(account).digest('base64url')}`
}
