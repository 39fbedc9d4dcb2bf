/**
 * Keeps two people from rebuilding a lost ledger at once. It is a courtesy: what they write is the
 * same, and nothing is written where the data is there (lua/restore_owners.lua).
 */
import { randomBytes } from 'node:crypto'
import type { RedisConnection } from '../store/redis.ts'
import type { LedgerKeys } from './keys.ts'
import { runScript } from './script.ts'
import { renewLockScript } from './scripts.ts'

export interface RebuildLock {
  /** False if it was lost: Redis was emptied again, or stood still for longer than the lock. */
  isHeld(): boolean
  release(): Promise<void>
}

/** Outlives a rebuild that was killed by so much. */
const TTL_MS = 30_000

/** Null if somebody else holds it. Throws `StoreDownError`. */
export async function acquireRebuildLock(
  redis: RedisConnection,
  { rebuildLock: lock }: LedgerKeys,
  ttlMs = TTL_MS,
): Promise<RebuildLock | null> {
  const token = randomBytes(12).toString('hex')
  const taken = await redis.guard(redis.client.set(lock, token, 'PX', ttlMs, 'NX'))
  if (taken === null) return null
  let isHeld = true
  // What stands there now may not be what was written: see `isHeld`.
  redis.onLost(() => {
    isHeld = false
  })
  const keep = async (keepMs: number) => {
    const kept = await runScript(redis, renewLockScript, { lock, token, ttlMs: keepMs })
    if (kept === 0) isHeld = false
  }
  const timer = setInterval(() => {
    keep(ttlMs).catch(() => {
      isHeld = false
    })
  }, ttlMs / 3)
  timer.unref()
  return {
    isHeld: () => isHeld,
    async release() {
      clearInterval(timer)
      await keep(0)
    },
  }
}
