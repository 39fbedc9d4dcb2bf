import { afterAll, beforeAll, expect, it } from 'vitest'
import { errorText } from '../../src/cli/errors.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../src/store/redis.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { type StoreProxy, startStoreProxy } from '../support/store-proxy.ts'

let redis: TestRedis
let proxy: StoreProxy

beforeAll(async () => {
  redis = await startTestRedis()
  proxy = await startStoreProxy(redis.url)
})
afterAll(async () => {
  await proxy.close()
  await redis.close()
})

it('the error names the store that did not answer', async () => {
  const log = createLogger({ name: 'test', level: 'silent' })
  const settings = { url: proxy.url, commandTimeoutMs: 2_000, connectTimeoutMs: 20_000 }
  const connection = openRedis(settings, log)
  try {
    await waitForRedis(connection, 20_000)
    proxy.hang()
    const error = await connection.client.get('any').catch((reason: unknown) => reason)
    expect(errorText(error)).toMatch(/^Redis did not answer within redis\.commandTimeoutMs/)
  } finally {
    await connection.close()
  }
})
