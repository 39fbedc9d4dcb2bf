/** Keys that end by themselves: sessions, tokens, what was seen once, what is counted. */
import type { RedisConnection } from './redis.ts'

/** Prefix of all that authentication keeps, on whichever port. */
export const AUTH_KEYS = 'auth'

/** Each call rejects with `StoreDownError` where Redis is away. */
export interface ExpiringKeys {
  get(key: string): Promise<string | null>
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** False: it is there already, and stays as it is. */
  setOnce(key: string, value: string, ttlMs: number): Promise<boolean>
  /** False: there is none. */
  extend(key: string, ttlMs: number): Promise<boolean>
  /** Gives it, and removes it: only one of several gets it. */
  take(key: string): Promise<string | null>
  remove(key: string): Promise<void>
  /** One more, from 1 on; it ends `ttlMs` after the first. */
  count(key: string, ttlMs: number): Promise<number>
  /** What is left of it, ms; 0: there is none. */
  remainingMs(key: string): Promise<number>
  /**
   * Takes one of `max` places; each is free again `windowMs` after it was taken. So no period of
   * that length has more than `max`, however many processes ask at once.
   */
  acquireSlot(key: string, place: SlotOptions): Promise<SlotAcquired | SlotsExhausted>
  /** Before its time is over. */
  releaseSlot(key: string, id: string): Promise<void>
}

export interface SlotOptions {
  /** Another one for each. */
  readonly id: string
  readonly max: number
  readonly windowMs: number
}

export interface SlotAcquired {
  /** This one with those that were taken before. */
  readonly taken: number
}

export interface SlotsExhausted {
  /** Until there is one. */
  readonly leftMs: number
}

/** A sorted set of ids by the time of Redis, which is the same for all processes. */
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

/** `prefix` stands before each key, with a colon. */
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
        // A pipeline does not reject: it has the outages among its replies.
        const failure = replies.find(([error]) => error !== null)?.[0]
        if (failure) throw failure
        return Number(replies[1]?.[1])
      }
      return guard(counted())
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
