import { totalmem } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backlogPercent, readBacklog, Threshold } from '../../src/ledger/backlog.ts'
import { createLedger, type Ledger } from '../../src/ledger/ledger.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../src/store/redis.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'

const MIB = 1024 * 1024
const LIMIT = 64 * MIB

let server: TestRedis
let redis: RedisConnection
let ledger: Ledger
beforeAll(async () => {
  server = await startTestRedis({ maxmemoryBytes: LIMIT })
  const settings = { url: server.url, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
  redis = openRedis(settings, createLogger({ name: 'test', level: 'silent' }))
  await waitForRedis(redis, 20_000)
  ledger = createLedger(redis, { partitions: 4, directoryTtlMs: 1, operationKeepMs: 1 }, 1)
})
afterAll(async () => {
  await redis.close()
  await server.close()
})

it('the backlog is the memory of all streams, compared with the limit of Redis', async () => {
  expect(await readBacklog(ledger)).toEqual({ streamBytes: 0, limitBytes: LIMIT })
  await redis.client.set('other', Buffer.alloc(4 * MIB))
  const entry = Buffer.alloc(1024)
  for (const partition of [0, 3]) {
    const pipeline = redis.client.pipeline()
    for (let count = 0; count < 2048; count += 1) {
      pipeline.xadd(ledger.keys.stream(partition), '*', 'r', entry)
    }
    await pipeline.exec()
  }
  const backlog = await readBacklog(ledger)
  expect(backlog.streamBytes).toBeGreaterThan(4 * MIB)
  expect(backlog.streamBytes).toBeLessThan(6 * MIB)
  expect(backlogPercent(backlog)).toBeCloseTo((backlog.streamBytes / LIMIT) * 100)
})

it('the backlog is compared with the memory of the machine if there is no limit', async () => {
  await redis.client.config('SET', 'maxmemory', '0')
  const { limitBytes } = await readBacklog(ledger)
  expect(limitBytes).toBeGreaterThan(0)
  expect(limitBytes).toBeLessThanOrEqual(totalmem() * 2)
  await redis.client.config('SET', 'maxmemory', String(LIMIT))
})

it('the backlog is never too large if no limit is known', () => {
  expect(backlogPercent({ streamBytes: 1, limitBytes: 0 })).toBe(0)
})

describe('a threshold', () => {
  it('is reached at its upper mark and left only below the lower one', () => {
    const threshold = new Threshold(60, 55)
    const percentages = [0, 59.9, 60, 59, 55, 54.9, 59.9, 60, 100, 0]
    const results = percentages.map((percentage) => {
      const hasChanged = threshold.update(percentage)
      return `${threshold.isExceeded ? 'over' : 'under'}${hasChanged ? ', changed' : ''}`
    })
    expect(results).toEqual([
      'under',
      'under',
      'over, changed',
      'over',
      'over',
      'under, changed',
      'under',
      'over, changed',
      'over',
      'under, changed',
    ])
  })
})
