import { expect, it } from 'vitest'
import { createLogger } from '../../src/runtime/log.ts'
import { watchRedisPolicy } from '../../src/store/policy-watch.ts'
import { openRedis, StoreDownError, waitForRedis } from '../../src/store/redis.ts'
import { startTestRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait.ts'

it('says once that a master lacks the replicas that a commit waits for', async () => {
  const server = await startTestRedis()
  const silent = createLogger({ name: 'test', level: 'silent' })
  const settings = { url: server.url, commandTimeoutMs: 1_000, connectTimeoutMs: 1_000 }
  const redis = openRedis({ ...settings, replicaAcks: 1 }, silent)
  const said: unknown[] = []
  const log = { error: (...what: unknown[]) => said.push(what), info: () => undefined }
  await waitForRedis(redis, 20_000)
  const watch = watchRedisPolicy(redis, log as never, undefined, 5)
  try {
    await waitUntil('it is said', () => said.length > 0)
    const text = "return redis.call('INCR', KEYS[1])"
    const call = { name: 'count', text, keys: ['k'], args: [], isDurable: true }
    const refused = redis.runScript(call)
    await expect(refused).rejects.toThrow('written, but 0 of 1 replicas have it')
    await expect(refused).rejects.toBeInstanceOf(StoreDownError)
    expect(said).toEqual([
      [
        { problem: 'redis: a master has 0 of 1 replicas' },
        'nothing is charged there: redis.replicaAcks asks for more',
      ],
    ])
    expect(watch.isKept()).toBe(true)
  } finally {
    watch.stop()
    await redis.close()
    await server.close()
  }
})
