import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { startTestRedis } from '../support/redis.ts'
import { redisContract } from './redis-contract.ts'

const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3)

redisContract('the embedded Redis', () => startTestRedis())

const url = process.env['TEST_REDIS_URL']
if (url) redisContract('the server of TEST_REDIS_URL', async () => ({ url, close: async () => {} }))
else describe('the server of TEST_REDIS_URL', () => it.skip('is not configured', () => {}))

/** Filling the memory of a server and killing it is limited to the embedded one. */
describe('the embedded Redis', () => {
  const WRITE = `
    local n = redis.call('INCR', KEYS[1])
    redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
    redis.call('XADD', KEYS[3], '*', 'field', ARGV[1])
    return n`

  it('out of memory refuses a script before its first write, and never after it', async () => {
    const server = await startTestRedis({ maxmemoryBytes: 4 * 1024 * 1024 })
    const redis = new Redis(server.socketPath)
    const text = 'x'.repeat(20_000)
    let done = 0
    const failure = await (async (): Promise<unknown> => {
      for (;;) {
        try {
          done = Number(await redis.eval(WRITE, 3, 'n', 'h', 's', `f${done}`, text))
        } catch (error) {
          return error
        }
      }
    })()
    expect(String(failure)).toMatch(/OOM/)
    const counts = [Number(await redis.get('n')), await redis.hlen('h'), await redis.xlen('s')]
    expect(counts).toEqual([done, done, done])
    // Reads and deletions still work, which frees memory.
    expect(await redis.eval(`return redis.call('HSTRLEN', KEYS[1], 'f0')`, 1, 'h')).toBe(20_000)
    const fields = Array.from({ length: done - 20 }, (_, n) => `f${n}`)
    await redis.eval(`redis.call('HDEL', KEYS[1], unpack(ARGV))`, 1, 'h', ...fields)
    const again = () => redis.eval(WRITE, 3, 'n', 'h', 's', 'new', 'small').catch(() => 0)
    await expect.poll(again, { timeout: 60_000 }).toBe(done + 1)
    redis.disconnect()
    await server.close()
  })

  it(`loses no acknowledged write and applies none partially, killed ${ROUNDS} times`, async () => {
    const server = await startTestRedis({ appendfsync: 'always' })
    const acknowledged = new Set<string>()
    for (let round = 0; round < ROUNDS; round++) {
      await writeUntilKilled(server, WRITE, round, acknowledged)
      await server.restart()
      const redis = new Redis(server.socketPath)
      const fields = new Set(await redis.hkeys('h'))
      expect([...acknowledged].filter((field) => !fields.has(field))).toEqual([])
      expect(Number(await redis.get('n'))).toBe(fields.size)
      const entries = await redis.xrange('s', '-', '+')
      expect(new Set(entries.map(([, [, field]]) => field))).toEqual(fields)
      expect(entries).toHaveLength(fields.size)
      redis.disconnect()
    }
    await server.close()
  })
})

async function writeUntilKilled(
  server: Awaited<ReturnType<typeof startTestRedis>>,
  script: string,
  round: number,
  acknowledged: Set<string>,
): Promise<void> {
  const before = acknowledged.size
  const write = async (writer: number) => {
    const options = { retryStrategy: () => null, maxRetriesPerRequest: 0 }
    const redis = new Redis(server.socketPath, options)
    redis.on('error', () => undefined)
    for (let i = 0; ; i++) {
      const field = `${round}.${writer}.${i}`
      await redis.eval(script, 3, 'n', 'h', 's', field, 'x'.repeat((i * 97) % 3000))
      acknowledged.add(field)
    }
  }
  const writers = Promise.allSettled(Array.from({ length: 6 }, (_, writer) => write(writer)))
  await expect.poll(() => acknowledged.size - before, { timeout: 60_000 }).toBeGreaterThan(200)
  await server.kill9()
  for (const end of await writers) expect(end.status).toBe('rejected')
}
