import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkInstall } from '../../src/ledger/install.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../src/store/redis.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'

let server: TestRedis
let redis: RedisConnection

beforeAll(async () => {
  server = await startTestRedis()
  const log = createLogger({ name: 'test', level: 'silent' })
  redis = openRedis({ url: server.url, commandTimeoutMs: 2000, connectTimeoutMs: 1000 }, log)
  await waitForRedis(redis, 5000)
})
afterAll(async () => {
  await redis.close()
  await server.close()
})

it('fixes the partitions at the first start, and refuses another number by name', async () => {
  await Promise.all([checkInstall(redis, 64), checkInstall(redis, 64)])
  await checkInstall(redis, 64)
  await expect(checkInstall(redis, 32)).rejects.toThrow(
    'ledger.partitions is 32, but this ledger was installed with 64',
  )
})
