import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startRedis } from '../../src/embedded/redis.ts'
import { mountProblem, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { waitUntil } from '../support/wait.ts'

const problem = mountProblem()
const why = problem === undefined ? '' : ` (skipped: ${problem})`

let folder: string
let disk: SmallDisk

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
const start = (appendfsync: 'always' | 'everysec') =>
  startRedis({
    dataDir: join(disk.path, 'r'),
    runDir: disk.path,
    appendfsync,
    log: silent,
  })
const SCRIPT = `
  local n = redis.call('INCR', KEYS[1])
  redis.call('HSET', KEYS[2], n, string.rep('x', 1000))
  return n`

/** Runs the script until Redis refuses or ends; returns the number of successes and the error. */
const commitUntilRefused = async (redis: Redis): Promise<{ done: number; error: unknown }> => {
  for (let done = 0; ; ) {
    try {
      done = Number(await redis.eval(SCRIPT, 2, 'n', 'h'))
    } catch (error) {
      return { done, error }
    }
  }
}

describe.skipIf(problem !== undefined)(`the embedded Redis on a full disk${why}`, () => {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tg-full-'))
    disk = mountSmallDisk(join(folder, 'disk'), 16 * 1024 * 1024)
  })
  afterEach(() => {
    disk.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  it('with everysec refuses scripts that write as a whole, and recovers', async () => {
    const store = await start('everysec')
    const redis = new Redis(store.socketPath, { maxRetriesPerRequest: 1 })
    await redis.eval(SCRIPT, 2, 'n', 'h')
    disk.fill()
    const { error } = await commitUntilRefused(redis)
    expect(String(error)).toMatch(/MISCONF/)
    const done = Number(await redis.get('n'))
    expect(await redis.hlen('h')).toBe(done)
    expect(Number(await redis.hstrlen('h', String(done)))).toBe(1000)
    // Health checks therefore detect it.
    await expect(redis.ping()).rejects.toThrow(/MISCONF/)
    disk.makeRoom()
    await waitUntil('Redis takes writes again', () =>
      redis.eval(SCRIPT, 2, 'n', 'h').then(
        () => true,
        () => false,
      ),
    )
    expect(await redis.get('n')).toBe(String(done + 1))
    redis.disconnect()
    await store.close()
  })

  it('with always exits, and keeps all acknowledged data', async () => {
    const store = await start('always')
    const redis = new Redis(store.socketPath, { maxRetriesPerRequest: 0, retryStrategy: null })
    redis.on('error', () => undefined)
    await redis.eval(SCRIPT, 2, 'n', 'h')
    disk.fill()
    const { done } = await commitUntilRefused(redis)
    expect(await store.exited).toEqual({ code: 1, signal: null })
    redis.disconnect()
    disk.makeRoom()
    const again = await start('always')
    const second = new Redis(again.socketPath)
    const stored = Number(await second.get('n'))
    expect(stored - done).toBeGreaterThanOrEqual(0)
    expect(stored - done).toBeLessThanOrEqual(1)
    expect(await second.hlen('h')).toBe(stored)
    second.disconnect()
    await again.close()
  })
})
