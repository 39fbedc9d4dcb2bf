/** Keys with a time to live: login sessions, tokens, one-time values, counters. */
import type { RedisConnection } from './redis.ts'

/** Prefix of all authentication keys, on all ports. */
export const AUTH_KEYS = 'auth'

/** Each call rejects with `StoreDownError` if Redis is unavailable. */
export interface ExpiringKeys {
  get(key: string): Promise<string | null>
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** Returns false if the key exists; its value is unchanged then. */
  setOnce(key: string, value: string, ttlMs: number): Promise<boolean>
  /** Returns false if the key does not exist. */
  extend(key: string, ttlMs: number): Promise<boolean>
  /** Returns the value and removes the key: only one of several callers gets it. */
  take(key: string): Promise<string | null>
  remove(key: string): Promise<void>
  /** Increments a counter from 1; it expires `ttlMs` after the first increment. */
  count(key: string, ttlMs: number): Promise<number>
  /** Takes one back from a counter, unless the key does not exist any more. */
  uncount(key: string): Promise<void>
  /** Remaining time to live, ms; 0 if the key does not exist. */
  remainingMs(key: string): Promise<number>
  /**
   * Acquires one of `max` slots; each becomes free `windowMs` after it was acquired. No window of
   * that length thus has more than `max` acquisitions across all processes.
   */
  acquireSlot(key: string, options: SlotOptions): Promise<SlotAcquired | SlotsExhausted>
  /** Releases a slot before its window ends. */
  releaseSlot(key: string, id: string): Promise<void>
}

export interface SlotOptions {
  /** Unique per slot. */
  readonly id: string
  readonly max: number
  readonly windowMs: number
}

export interface SlotAcquired {
  /** Number of acquired slots including this one. */
  readonly taken: number
}

export interface SlotsExhausted {
  /** Time until a slot becomes free. */
  readonly leftMs: number
}

/** A sorted set of slot ids by the time of Redis, which is the same for all processes. */
const ACQUIRE_SLOT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local max, window = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local taken = redis.call('ZCARD', KEYS[1])
if taken >= max then
  local first = redis.call('ZRANGE', KEYS[1], taken - max, taken - max, 'WITHSCORES')
  return {0, math.max(1, first[2] + window - now)}
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], window)
return {1, taken + 1}
`

const UNCOUNT = `
if tonumber(redis.call('GET', KEYS[1]) or 0) > 0 then redis.call('DECR', KEYS[1]) end
`

/** `prefix` and a colon precede each key. */
export function openExpiringKeys(
  { client, guard }: Pick<RedisConnection, 'client' | 'guard'>,
  prefix: string,
): ExpiringKeys {
  const named = (key: string) => `${prefix}:${key}`
  return {
    get: (key) => guard(client.get(named(key))),
    async set(key, value, ttlMs) {
      await guard(client.set(named(key), value, 'PX', ttlMs))
    },
    async setOnce(key, value, ttlMs) {
      return (await guard(client.set(named(key), value, 'PX', ttlMs, 'NX'))) === 'OK'
    },
    async extend(key, ttlMs) {
      return (await guard(client.pexpire(named(key), ttlMs))) === 1
    },
    take: (key) => guard(client.getdel(named(key))),
    async remove(key) {
      await guard(client.del(named(key)))
    },
    async count(key, ttlMs) {
      const pipeline = client.pipeline().set(named(key), 0, 'PX', ttlMs, 'NX').incr(named(key))
      const counted = async () => {
        const replies = (await pipeline.exec()) ?? []
        // A pipeline does not reject: errors are among its replies.
        const failure = replies.find(([error]) => error !== null)?.[0]
        if (failure) throw failure
        return Number(replies[1]?.[1])
      }
      return guard(counted())
    },
    async uncount(key) {
      await guard(client.eval(UNCOUNT, 1, named(key)))
    },
    async remainingMs(key) {
      return Math.max(0, await guard(client.pttl(named(key))))
    },
    async acquireSlot(key, { id, max, windowMs }) {
      const call = client.eval(ACQUIRE_SLOT, 1, named(key), id, max, windowMs)
      const [isTaken, figure] = (await guard(call)) as [number, number]
      return isTaken === 1 ? { taken: figure } : { leftMs: figure }
    },
    async releaseSlot(key, id) {
      await guard(client.zrem(named(key), id))
    },
  }
}
