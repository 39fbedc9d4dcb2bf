import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLogger } from '../../src/runtime/log.ts'
import {
  openRedis,
  type RedisConnection,
  StoreDownError,
  waitForRedis,
} from '../../src/store/redis.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'

let server: TestRedis
let redis: RedisConnection
beforeAll(async () => {
  server = await startTestRedis()
  const settings = { url: server.url, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
  redis = openRedis(settings, createLogger({ name: 'test', level: 'silent' }))
  await waitForRedis(redis, 20_000)
})
afterAll(async () => {
  await redis.close()
  await server.close()
})

it('a programming error is distinguished from an outage with a similar code', async () => {
  const create = () => redis.guard(redis.client.xgroup('CREATE', 's', 'g', '0', 'MKSTREAM'))
  await create()
  const error = await create().catch((reason: unknown) => reason)
  expect(error).toMatchObject({ message: expect.stringMatching(/^BUSYGROUP /) })
  expect(error).not.toBeInstanceOf(StoreDownError)
})

it('a Redis that is busy with a script is treated as unavailable', async () => {
  const other = new Redis({ path: server.socketPath })
  await redis.client.config('SET', 'busy-reply-threshold', '1')
  const endless = other.eval('while true do end', 0).catch(() => undefined)
  await expect
    .poll(() => redis.guard(redis.client.get('x')).catch((reason: unknown) => reason))
    .toBeInstanceOf(StoreDownError)
  await redis.client.call('SCRIPT', 'KILL')
  await endless
  other.disconnect()
})
