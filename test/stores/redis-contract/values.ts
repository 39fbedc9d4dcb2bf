import { describe, expect, it } from 'vitest'
import { waitUntil } from '../../support/wait.ts'
import type { Scene } from '../redis-contract.ts'

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

export function valueContract(scene: Scene): void {
  hashes(scene)
  order(scene)
  expiry(scene)
  policy(scene)
}

function hashes(scene: Scene): void {
  describe('hashes', () => {
    it('keep all bytes, in names and values', async () => {
      const key = scene.key()
      const redis = scene.redis()
      await redis.hset(key, ALL_BYTES, ALL_BYTES)
      expect(await redis.hgetBuffer(key, ALL_BYTES)).toEqual(ALL_BYTES)
      expect(await redis.hkeysBuffer(key)).toEqual([ALL_BYTES])
      const long = Buffer.alloc(1_000_000, 0xff)
      await redis.hset(key, 'long', long)
      expect((await redis.hgetBuffer(key, 'long'))?.equals(long)).toBe(true)
    })

    it('set a missing field for one of several concurrent clients', async () => {
      const key = scene.key()
      const clients = Array.from({ length: 6 }, () => scene.connect())
      const set = await Promise.all(clients.map((client, n) => client.hsetnx(key, 'f', String(n))))
      expect(set.filter((isFirst) => isFirst === 1)).toHaveLength(1)
      expect(await scene.redis().hget(key, 'f')).toBe(String(set.indexOf(1)))
    })

    it('are removed with their last field', async () => {
      const key = scene.key()
      await scene.redis().hset(key, 'a', 1, 'b', 2)
      expect(await scene.redis().hdel(key, 'a', 'b', 'c')).toBe(2)
      expect(await scene.redis().exists(key)).toBe(0)
    })
  })
}

function order(scene: Scene): void {
  describe('sorted sets', () => {
    it('return members by score, then by their bytes, up to a limit', async () => {
      const key = scene.key()
      const redis = scene.redis()
      await redis.zadd(key, 5, 'b', 5, 'a', 1, 'z', 5, 'ab', 9, '0', 5.5, 'c')
      const range = (...rest: (string | number)[]) =>
        redis.call('ZRANGEBYSCORE', key, ...rest.map(String))
      expect(await range('-inf', 5)).toEqual(['z', 'a', 'ab', 'b'])
      expect(await range('-inf', 5, 'LIMIT', 0, 2)).toEqual(['z', 'a'])
      expect(await range('-inf', 5, 'LIMIT', 2, 9)).toEqual(['ab', 'b'])
      expect(await range('(5', '+inf')).toEqual(['c', '0'])
      expect(await range(6, 8)).toEqual([])
    })

    it('store times in milliseconds exactly', async () => {
      const key = scene.key()
      const time = 1_799_999_999_999
      await scene.redis().zadd(key, time, 'a', time + 1, 'b')
      expect(Number(await scene.redis().zscore(key, 'b'))).toBe(time + 1)
      expect(await scene.redis().zrangebyscore(key, time, time)).toEqual(['a'])
    })

    it('contain a member once: a new score replaces the old one', async () => {
      const key = scene.key()
      const redis = scene.redis()
      expect(await redis.zadd(key, 1, 'a')).toBe(1)
      expect(await redis.zadd(key, 2, 'a')).toBe(0)
      expect(await redis.zcard(key)).toBe(1)
      expect(await redis.zrangebyscore(key, 0, 1)).toEqual([])
      expect(await redis.zrem(key, 'a', 'a')).toBe(1)
    })
  })
}

function expiry(scene: Scene): void {
  describe('keys with an expiry', () => {
    it('are removed after their time, and no others', async () => {
      const [short, long] = [scene.key(), scene.key()]
      const redis = scene.redis()
      await redis.set(short, 'v', 'PX', 30)
      await redis.set(long, 'v', 'PX', 3_600_000)
      await waitUntil('the key is gone', async () => (await redis.get(short)) === null)
      expect(await redis.get(long)).toBe('v')
      expect(await redis.pttl(long)).toBeGreaterThan(3_000_000)
    })

    it('live longer after PEXPIRE and GETEX, and forever after a plain SET', async () => {
      const key = scene.key()
      const redis = scene.redis()
      await redis.set(key, 'v', 'PX', 50_000)
      expect(await redis.pexpire(key, 3_600_000)).toBe(1)
      expect(await redis.pttl(key)).toBeGreaterThan(3_000_000)
      expect(await redis.getex(key, 'PX', 50_000)).toBe('v')
      expect(await redis.pttl(key)).toBeLessThanOrEqual(50_000)
      await redis.set(key, 'w')
      expect(await redis.pttl(key)).toBe(-1)
      expect(await redis.pexpire(scene.key(), 1_000)).toBe(0)
    })

    it('are set by one of several concurrent clients (SET NX)', async () => {
      const key = scene.key()
      const clients = Array.from({ length: 6 }, () => scene.connect())
      const taken = await Promise.all(
        clients.map((client, n) => client.set(key, String(n), 'PX', 60_000, 'NX')),
      )
      expect(taken.filter((reply) => reply === 'OK')).toHaveLength(1)
      expect(await scene.redis().get(key)).toBe(String(taken.indexOf('OK')))
    })
  })
}

function policy(scene: Scene): void {
  describe('the Redis server', () => {
    it('evicts nothing', async () => {
      const found = await scene.redis().config('GET', 'maxmemory-policy')
      expect(found).toEqual(['maxmemory-policy', 'noeviction'])
    })

    it('has a version that the ledger supports', async () => {
      const info = await scene.redis().info('server')
      const [major = 0, minor = 0] = (/redis_version:([\d.]+)/.exec(info)?.[1] ?? '')
        .split('.')
        .map(Number)
      expect(major * 100 + minor).toBeGreaterThanOrEqual(602)
    })

    it('answers a pipeline in order, with errors at their positions', async () => {
      const key = scene.key()
      const replies = await scene.redis().pipeline().set(key, 'x').hget(key, 'f').get(key).exec()
      expect(replies?.map(([error]) => error === null)).toEqual([true, false, true])
      expect(replies?.[2]?.[1]).toBe('x')
    })
  })
}
