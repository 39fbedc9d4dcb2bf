/**
 * Whether a typed name is that of a user. Another text may be a password, typed into the wrong
 * field, and is not written down.
 */
import { createHash } from 'node:crypto'
import type { AuthDeps } from './auth-deps.ts'
import type { Users } from './users.ts'

export interface KnownUserNames {
  /** `account`: what tries of the name are counted under. Rejects where a store is away. */
  has(username: string, account: string): Promise<boolean>
  /** A user whom only a directory knows has logged in. */
  add(account: string): Promise<void>
}

/** Half a year without a login: the directory may not have the user any more. */
const NOTED_MS = 180 * 24 * 3_600_000
const CACHED_MS = 60_000
const CACHED_MAX = 10_000

export function createKnownNames({
  users,
  keys,
  clock,
}: Pick<AuthDeps, 'keys' | 'clock'> & { users: Pick<Users, 'byName'> }): KnownUserNames {
  // Refused requests are to cost little, and there may be many.
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
