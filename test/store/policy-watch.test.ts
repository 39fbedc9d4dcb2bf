import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startRedis } from '../../src/embedded/redis.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { watchRedisPolicy } from '../../src/store/policy-watch.ts'
import { openRedis, StoreDownError, waitForRedis } from '../../src/store/redis.ts'
import { startTestRedis } from '../support/redis.ts'
import { mountProblem, mountSmallDisk } from '../support/small-disk.ts'
import { waitUntil } from '../support/wait.ts'

it('the policy watch reports once that a master lacks replicas for commits', async () => {
  const server = await startTestRedis()
  const silent = createLogger({ name: 'test', level: 'silent' })
  const settings = { url: server.url, commandTimeoutMs: 5_000, connectTimeoutMs: 20_000 }
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
        'nothing is charged there: redis.replicaAcks requires more',
      ],
    ])
    expect(watch.isSatisfied()).toBe(true)
  } finally {
    watch.stop()
    await redis.close()
    await server.close()
  }
})

const problem = mountProblem()
const why = problem === undefined ? '' : ` (skipped: ${problem})`

it.skipIf(problem !== undefined)(
  `the policy watch reports a master that cannot write${why}`,
  async () => {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-full-'))
    const disk = mountSmallDisk(join(folder, 'disk'), 16 * 1024 * 1024)
    const silent = createLogger({ name: 'test', level: 'silent' })
    const place = { dataDir: join(disk.path, 'r'), runDir: disk.path, log: silent }
    const server = await startRedis({ ...place, appendfsync: 'everysec' })
    const timeouts = { commandTimeoutMs: 5_000, connectTimeoutMs: 5_000 }
    const redis = openRedis({ url: server.url, ...timeouts }, silent)
    await waitForRedis(redis, 20_000)
    const refusing: number[] = []
    const said: unknown[] = []
    const log = {
      error: (...what: unknown[]) => said.push(what),
      info: (text: unknown) => said.push(text),
    }
    const watch = watchRedisPolicy(redis, log as never, (masters) => refusing.push(masters), 5)
    try {
      await waitUntil('it has looked', () => refusing.at(-1) === 0)
      expect(watch.canWrite()).toBe(true)
      disk.fill()
      const write = () => redis.guard(redis.client.append('k', 'x'.repeat(5_000)))
      const refused = async () => {
        for (;;) await write()
      }
      await expect(refused()).rejects.toThrow(StoreDownError)
      await waitUntil('it is said', () => !watch.canWrite())
      expect(refusing.at(-1)).toBe(1)
      expect(watch.isSatisfied()).toBe(true)
      disk.makeRoom()
      await waitUntil('it is over', () => watch.canWrite())
      expect(said).toEqual([
        [
          { refusing: 1, masters: 1, reason: 'its append-only file cannot be written' },
          'redis cannot write: nothing is charged there until it has room',
        ],
        'redis can write again',
      ])
      await write()
    } finally {
      watch.stop()
      await redis.close()
      await server.close({ force: true })
      disk.remove()
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
