import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { sessionKeyOf } from '../../src/ledger/keys.ts'
import { useOpenedEach } from '../support/opened.ts'
import { startTestRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait.ts'
import {
  aidOf,
  MONEY,
  openProcessorFixture,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

const redis = useOpenedEach(startTestRedis)
const scene = useOpenedEach(() => openProcessorFixture(redis().url, { commandTimeoutMs: 200 }))
const other = useOpenedEach(() => openProcessorFixture(redis().url))

const bucketOf = async (sid: number) => (await scene().owner(sid)).state.buckets[0]

async function comeBack(): Promise<void> {
  await redis().restart()
  const nodes = [scene(), other()]
  await waitUntil('connections', () => nodes.every((node) => node.redis.isReady()))
}

describe('a killed Redis', () => {
  it('loses and doubles nothing in the middle of batches, as repeated requests show', async () => {
    const sids = [1, 2, 101, 102, 201, 301]
    for (const sid of sids) {
      await scene().credit(sid, MONEY, 10_000_000)
      await scene().charge(request('start', sid, 0, [service(1_000_000)]))
    }
    const updates = (number: number) =>
      sids.map((sid) => request('update', sid, number, [service(1_000_000, 1_000_000)]))
    const numbers = Array.from({ length: 40 }, (_, index) => index + 1)
    let killed: Promise<unknown> | null = null
    let reached = 0
    const pending: Promise<string[]>[] = []
    for (const number of numbers) {
      if (number === 20) killed = redis().kill9()
      const outcomes = scene().charge(...updates(number))
      pending.push(outcomes.then((all) => all.map(({ reason }) => reason)))
      if (number < 15) await pending.at(-1)
      reached = number
    }
    const before = await Promise.all(pending)
    await killed
    expect(new Set(before.flat())).toEqual(new Set(['granted', 'storeDown']))
    expect(before.at(-1)).toEqual(sids.map(() => 'storeDown'))
    expect((await scene().charge(request('start', 1, 0, [])))[0]?.reason).toBe('storeDown')
    await comeBack()
    for (const number of numbers) {
      // A network element repeats what was not answered in time.
      let repeated: string[] = []
      await waitUntil('all are answered', async () => {
        const again = await scene().charge(...updates(number))
        repeated = again.map(({ reason }) => reason)
        return !repeated.includes('storeDown')
      })
      // A request out of order was answered before.
      for (const [index, reason] of repeated.entries()) {
        if (reason === 'outOfOrder')
          expect(before[number - 1]?.[index]).toMatch(/granted|storeDown/)
        else expect(reason).toBe('granted')
      }
    }
    for (const sid of sids) {
      expect(await bucketOf(sid)).toMatchObject({
        spent: reached * 10_000,
        reserved: 10_000,
        free: 10_000_000 - (reached + 1) * 10_000,
      })
    }
    expect(scene().defects).toEqual([])
  })

  it('that has lost its last writes does not match a cache that has them', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    const key = scene().ledger.keys.account(aidOf(1))
    const early = (await scene().redis.client.dumpBuffer(key)) as Buffer
    await scene().charge(request('start', 1, 0, [service(1_000_000)], { sessionId: 'lost' }))
    await redis().kill9()
    await comeBack()
    await other().redis.client.restore(key, 0, early, 'REPLACE')
    // The same version with different content.
    await other().charge(request('start', 1, 0, [service(2_000_000)], { sessionId: 'kept' }))
    expect(await bucketOf(1)).toMatchObject({ reserved: 20_000 })
    await scene().charge(request('start', 1, 0, [service(3_000_000)], { sessionId: 'next' }))
    expect(await bucketOf(1)).toMatchObject({ reserved: 50_000, free: 950_000 })
  })
})

describe('a paused Redis', () => {
  it('is given up within the command time-out, and the outcome is found afterwards', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(1_000_000)]))
    const update = request('update', 1, 1, [service(1_000_000, 1_000_000)])
    process.kill(redis().pid, 'SIGSTOP')
    try {
      const outcome = scene().charge(update)
      const late = pause(10_000, [{ reason: 'never' }], { ref: false })
      expect((await Promise.race([outcome, late]))[0]?.reason).toBe('storeDown')
    } finally {
      process.kill(redis().pid, 'SIGCONT')
    }
    await waitUntil(
      'an answer',
      async () => (await scene().charge(update))[0]?.reason === 'granted',
    )
    expect(await bucketOf(1)).toMatchObject({ spent: 10_000, reserved: 10_000, free: 980_000 })
    expect(scene().defects).toEqual([])
  })
})

describe('the directory', () => {
  it('is renewed for a long session by whichever node serves it', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(1_000_000)]))
    const key = scene().ledger.keys.directory(sessionKeyOf('test', 'session-1'))
    await scene().redis.client.pexpire(key, 60_000)
    await scene().charge(request('update', 1, 1, [service(1_000_000, 5)]))
    expect(await scene().redis.client.pttl(key)).toBeLessThanOrEqual(60_000)
    await other().charge(request('update', 1, 2, [service(1_000_000, 5)]))
    await other().charge(request('update', 1, 3, [service(1_000_000, 5)]))
    await waitUntil('renewal', async () => (await scene().redis.client.pttl(key)) > 60_000)
  })
})
