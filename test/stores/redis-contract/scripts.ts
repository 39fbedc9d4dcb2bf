import { createHash, randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import type { Scene } from '../redis-contract.ts'

export function scriptContract(scene: Scene): void {
  atomicity(scene)
  digests(scene)
  failing(scene)
  packing(scene)
}

/** Reads a value, computes, and writes it twice: only one script at a time may do this. */
const TRANSFER = `
  local a = tonumber(redis.call('HGET', KEYS[1], 'a') or '0')
  local b = tonumber(redis.call('HGET', KEYS[2], 'b') or '0')
  if a ~= b then return redis.error_reply('TORN') end
  redis.call('HSET', KEYS[1], 'a', a + 1)
  redis.call('HSET', KEYS[2], 'b', b + 1)
  return a + 1`

function atomicity(scene: Scene): void {
  describe('scripts', () => {
    it('of many clients run one after the other, and no write is lost', async () => {
      const [a, b] = [scene.key(), scene.key()]
      const clients = Array.from({ length: 8 }, () => scene.connect())
      const each = async (client: Redis) => {
        const seen: number[] = []
        for (let i = 0; i < 50; i++) seen.push(Number(await client.eval(TRANSFER, 2, a, b)))
        return seen
      }
      const seen = (await Promise.all(clients.map(each))).flat()
      expect(seen.sort((x, y) => x - y)).toEqual(Array.from({ length: 400 }, (_, n) => n + 1))
      expect(await scene.redis().hget(b, 'b')).toBe('400')
    })

    it('are atomic for readers', async () => {
      const [a, b] = [scene.key(), scene.key()]
      const [writer, reader] = [scene.connect(), scene.connect()]
      const writing = Promise.all(Array.from({ length: 200 }, () => writer.eval(TRANSFER, 2, a, b)))
      for (let i = 0; i < 100; i++) {
        const found = await reader.multi().hget(a, 'a').hget(b, 'b').exec()
        expect(found?.[0]?.[1]).toBe(found?.[1]?.[1])
      }
      await writing
    })
  })
}

function digests(scene: Scene): void {
  describe('scripts by their digest', () => {
    it('are refused with NOSCRIPT until they are loaded', async () => {
      const text = `return '${randomBytes(8).toString('hex')}'`
      const digest = createHash('sha1').update(text).digest('hex')
      await expect(scene.redis().evalsha(digest, 0)).rejects.toThrow(/^NOSCRIPT/)
      const first = await scene.redis().eval(text, 0)
      expect(await scene.connect().evalsha(digest, 0)).toBe(first)
    })

    it('are loaded by the driver if they are missing', async () => {
      const mark = randomBytes(8).toString('hex')
      const client = scene.connect()
      client.defineCommand('contractMark', { lua: `return {KEYS[1], ARGV[1], '${mark}'}` })
      const { contractMark } = client as unknown as Record<string, (...a: unknown[]) => unknown>
      expect(await contractMark?.call(client, 1, 'k', 'v')).toEqual(['k', 'v', mark])
    })
  })
}

function failing(scene: Scene): void {
  describe('scripts that fail', () => {
    it('keep their earlier writes: everything must be checked first', async () => {
      const [a, b] = [scene.key(), scene.key()]
      await scene.redis().set(b, 'text')
      const script = `redis.call('SET', KEYS[1], 'kept'); redis.call('HSET', KEYS[2], 'f', 'v')`
      await expect(scene.redis().eval(script, 2, a, b)).rejects.toThrow(/WRONGTYPE/)
      expect(await scene.redis().get(a)).toBe('kept')
    })

    it('continue after an error caught by pcall', async () => {
      const [a, b] = [scene.key(), scene.key()]
      await scene.redis().set(b, 'text')
      const script = `
        local found = redis.pcall('HGET', KEYS[2], 'f')
        redis.call('SET', KEYS[1], found.err and 'caught' or 'nothing')
        return found.err`
      expect(await scene.redis().eval(script, 2, a, b)).toMatch(/WRONGTYPE/)
      expect(await scene.redis().get(a)).toBe('caught')
    })

    it('return the error that they raise', async () => {
      const work = scene.redis().eval(`error('owner: version does not follow', 0)`, 0)
      await expect(work).rejects.toThrow(/owner: version does not follow/)
    })
  })
}

function packing(scene: Scene): void {
  const DOUBLES = [0, 1, -1, 0.1, 1 / 3, 2 ** 53 - 1, -(2 ** 53), 1e300, 5e-324, Infinity]

  describe('numbers and bytes in scripts', () => {
    it.each(DOUBLES)('the double %d is returned unchanged', async (value) => {
      const packed = Buffer.alloc(8)
      packed.writeDoubleLE(value)
      const key = scene.key()
      const script = `
        local value = struct.unpack('<d', ARGV[1])
        redis.call('HSET', KEYS[1], 'd', struct.pack('<d', value))
        return redis.call('HGET', KEYS[1], 'd')`
      const found = (await scene
        .redis()
        .callBuffer('EVAL', script, '1', key, packed)) as unknown as Buffer
      expect(found.equals(packed)).toBe(true)
    })

    it('integers up to 2^53 are counted exactly', async () => {
      const packed = Buffer.alloc(8)
      packed.writeDoubleLE(2 ** 53 - 2)
      const script = `return struct.pack('<d', struct.unpack('<d', ARGV[1]) + 1)`
      const found = (await scene
        .redis()
        .callBuffer('EVAL', script, '0', packed)) as unknown as Buffer
      expect(found.readDoubleLE()).toBe(2 ** 53 - 1)
    })

    it('a number in a reply loses its fraction, so doubles are packed', async () => {
      expect(await scene.redis().eval('return {3.99, -3.99}', 0)).toEqual([3, -3])
    })

    it('length-prefixed texts are decoded, whatever bytes they contain', async () => {
      const texts = [Buffer.alloc(0), Buffer.from([0, 255, 10, 13]), Buffer.from('käse')]
      const batch = Buffer.concat(
        texts.flatMap((text) => {
          const length = Buffer.alloc(4)
          length.writeUInt32LE(text.length)
          return [length, text]
        }),
      )
      const script = `
        local at, found = 1, {}
        for i = 1, 3 do found[i], at = struct.unpack('<I4c0', ARGV[1], at) end
        return found`
      const found = await scene.redis().callBuffer('EVAL', script, '0', batch)
      expect(found).toEqual(texts)
    })

    it('a truncated batch is an error, and nothing is written', async () => {
      const key = scene.key()
      const script = `
        local value = struct.unpack('<d', ARGV[1])
        redis.call('SET', KEYS[1], value)`
      await expect(scene.redis().eval(script, 1, key, 'short')).rejects.toThrow(/too short/)
      expect(await scene.redis().exists(key)).toBe(0)
    })

    it('a missing value is false', async () => {
      const script = `
        local one, many = redis.call('HGET', KEYS[1], 'f'), redis.call('HMGET', KEYS[1], 'f', 'g')
        return { tostring(one), tostring(many[1]), #many, tostring(redis.call('GET', KEYS[1])) }`
      const found = await scene.redis().eval(script, 1, scene.key())
      expect(found).toEqual(['false', 'false', 2, 'false'])
    })
  })
}
