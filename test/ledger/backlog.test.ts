import { totalmem } from 'node:os'
import { describe, expect, it } from 'vitest'
import { backlogPercent, readBacklog, Threshold } from '../../src/ledger/backlog.ts'
import { createLedger } from '../../src/ledger/ledger.ts'
import { useRedis } from '../support/connected-redis.ts'
import { useMade } from '../support/opened.ts'

const MIB = 1024 * 1024
const LIMIT = 64 * MIB
const { redis } = useRedis({ maxmemoryBytes: LIMIT })
const settings = { partitions: 4, directoryTtlMs: 1, operationKeepMs: 1 }
const ledger = useMade(() => createLedger(redis(), settings, 1))

it('the backlog is the memory of all streams, compared with what nothing else uses', async () => {
  expect(await readBacklog(ledger())).toMatchObject({ streamBytes: 0, limitBytes: LIMIT })
  const entry = Buffer.alloc(1024)
  for (const partition of [0, 3]) {
    const pipeline = redis().client.pipeline()
    for (let count = 0; count < 2048; count += 1) {
      pipeline.xadd(ledger().keys.stream(partition), '*', 'r', entry)
    }
    await pipeline.exec()
  }
  const backlog = await readBacklog(ledger())
  expect(backlog.streamBytes).toBeGreaterThan(4 * MIB)
  expect(backlog.streamBytes).toBeLessThan(6 * MIB)
  const room = LIMIT - backlog.otherBytes
  expect(backlog.otherBytes).toBeLessThan(6 * MIB)
  expect(backlogPercent(backlog)).toBeCloseTo((backlog.streamBytes / room) * 100)
  for (let part = 0; part < 8; part += 1) {
    await redis().client.append('other', Buffer.alloc(4 * MIB))
  }
  const { streamBytes, otherBytes } = await readBacklog(ledger())
  expect(streamBytes).toBe(backlog.streamBytes)
  expect(otherBytes).toBeGreaterThan(32 * MIB)
  await redis().client.del('other')
})

it.each([
  ['nothing else', { streamBytes: 30, otherBytes: 0, limitBytes: 100 }, 30],
  ['much else', { streamBytes: 30, otherBytes: 50, limitBytes: 100 }, 60],
  ['a full Redis', { streamBytes: 1, otherBytes: 99, limitBytes: 100 }, 100],
  ['a Redis beyond its limit', { streamBytes: 1, otherBytes: 120, limitBytes: 100 }, 100],
  ['no streams', { streamBytes: 0, otherBytes: 99, limitBytes: 100 }, 0],
])('the share of the streams beside %s', (_what, backlog, percent) => {
  expect(backlogPercent(backlog)).toBe(percent)
})

it('the backlog is compared with the memory of the machine if there is no limit', async () => {
  await redis().client.config('SET', 'maxmemory', '0')
  const { limitBytes } = await readBacklog(ledger())
  expect(limitBytes).toBeGreaterThan(0)
  expect(limitBytes).toBeLessThanOrEqual(totalmem() * 2)
  await redis().client.config('SET', 'maxmemory', String(LIMIT))
})

it('the backlog is never too large if no limit is known', () => {
  expect(backlogPercent({ streamBytes: 1, otherBytes: 0, limitBytes: 0 })).toBe(0)
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
