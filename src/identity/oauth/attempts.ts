/** Rate limits of token requests per address, and lockout of a client per address. */
import { createHash } from 'node:crypto'
import type { SecuritySettings } from '../../catalog/settings/access/security-settings.ts'
import type { ExpiringKeys } from '../../store/expiring.ts'
import { networkOf, networksOf } from '../networks.ts'
import { tooManyRequests } from './errors.ts'

const MINUTE_MS = 60_000

/** Counts a request of an address. Throws `OAuthError` 429 above the limit. */
export async function countRequest(
  keys: ExpiringKeys,
  { rate_limits: limits }: SecuritySettings,
  address: string,
): Promise<void> {
  for (const { name, times } of networksOf(address)) {
    const key = `token-requests:${name}`
    if ((await keys.count(key, MINUTE_MS)) <= times * limits.tokens_per_minute) continue
    throw tooManyRequests('Too many requests from this address', await keys.remainingMs(key))
  }
}

/** Wrong secrets for a client name from an address; the client need not exist. */
export interface ClientAttempts {
  /** Throws `OAuthError` 429 during the lockout, even for the correct secret. */
  check(): Promise<void>
  failed(): Promise<void>
  succeeded(): Promise<void>
}

export function attemptsOf(
  keys: ExpiringKeys,
  { lockout }: SecuritySettings,
  client: string,
  address: string,
): ClientAttempts {
  const who = createHash('sha256')
    .update(JSON.stringify([client, networkOf(address)]))
    .digest('hex')
  const failures = `client-failures:${who}`
  const wait = `client-wait:${who}`
  const longestMs = lockout.seconds_max * 1000
  return {
    async check() {
      const leftMs = await keys.remainingMs(wait)
      if (leftMs > 0) throw tooManyRequests('Too many wrong secrets: wait', leftMs)
    },
    async failed() {
      const keptMs = Math.max(2 * longestMs, MINUTE_MS)
      const failed = await keys.count(failures, keptMs)
      await keys.extend(failures, keptMs)
      const beyond = failed - lockout.attempts
      if (beyond < 0) return
      await keys.set(wait, '1', Math.min(lockout.seconds * 1000 * 2 ** beyond, longestMs))
    },
    succeeded: () => keys.remove(failures),
  }
}
