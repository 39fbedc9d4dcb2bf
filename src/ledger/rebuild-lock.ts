/**
 * Keeps two operators from rebuilding a lost ledger at the same time. The lock is only a
 * convenience: both would write the same, and nothing is written where the data exists
 * (lua/restore_owners.lua).
 */
import { randomBytes } from 'node:crypto'
import type { RedisConnection } from '../store/redis.ts'
import type { LedgerKeys } from './keys.ts'
import { runScript } from './script.ts'
import { renewLockScript } from './scripts.ts'

export interface RebuildLock {
  /**
   * False if the lock was lost: Redis was emptied again, or was unavailable for longer than the
   * TTL.
   */
  isHeld(): boolean
  release(): Promise<void>
}

/** The lock of a killed rebuild expires after this time. */
const TTL_MS = 30_000

/** Null if another process holds the lock. Throws `StoreDownError`. */
export async function acquireRebuildLock(
  redis: RedisConnection,
  { rebuildLock: lock }: LedgerKeys,
  ttlMs = TTL_MS,
): Promise<RebuildLock | null> {
  const token = randomBytes(12).toString('hex')
  const acquired = await redis.guard(redis.client.set(lock, token, 'PX', ttlMs, 'NX'))
  if (acquired === null) return null
  let isHeld = true
  // The lock in Redis may no longer be this one: see `isHeld`.
  redis.onLost(() => {
    isHeld = false
  })
  const renew = async (newTtlMs: number) => {
    const renewed = await runScript(redis, renewLockScript, { lock, token, ttlMs: newTtlMs })
    if (renewed === 0) isHeld = false
  }
  const timer = setInterval(() => {
    renew(ttlMs).catch(() => {
      isHeld = false
    })
  }, ttlMs / 3)
  timer.unref()
  return {
    isHeld: () => isHeld,
    async release() {
      clearInterval(timer)
      await renew(0)
    },
  }
}
