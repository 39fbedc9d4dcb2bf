import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { openStreamReader } from '../../src/ledger/streams.ts'
import { emptyLedger } from '../support/ledger.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { MONEY, NOW_MS, openScene, REPLAY_MS, request, type Scene, service } from './scene.ts'

let redis: TestRedis
let scene: Scene
let other: Scene

beforeAll(async () => {
  redis = await startTestRedis({ appendfsync: 'everysec' })
})
afterAll(() => redis.close())
beforeEach(async () => {
  scene = await openScene(redis.url)
  other = await openScene(redis.url)
  await emptyLedger(scene.ledger)
  return async () => {
    expect([...scene.defects, ...other.defects]).toEqual([])
    await scene.close()
    await other.close()
  }
})

const event = request('event', 1, 0, [service(2_500_000)])
const refund = (requestNumber = 1, more: Partial<ChargeRequest> = {}) =>
  request('event', 1, requestNumber, [], { refund: true, ...more })

async function bucket() {
  const [first] = (await scene.owner(1)).state.buckets
  return { free: first?.free, spent: first?.spent }
}

describe('a refund', () => {
  it('gives back what the event took, once, at any node', async () => {
    await scene.credit(1, MONEY, 1_000_000)
    expect((await scene.charge(event))[0]).toMatchObject({ reason: 'granted' })
    expect(await bucket()).toEqual({ free: 970_000, spent: 30_000 })
    const [given] = await other.charge(refund())
    expect(given).toMatchObject({ reason: 'granted', services: [{ granted: 2_500_000 }] })
    expect(await bucket()).toEqual({ free: 1_000_000, spent: 0 })
    expect(await scene.charge(refund())).toEqual([given])
    expect((await scene.charge(refund(2)))[0]?.reason).toBe('sessionClosed')
    expect(await bucket()).toEqual({ free: 1_000_000, spent: 0 })
  })

  it('that only pretends moves nothing', async () => {
    await scene.credit(1, MONEY, 1_000_000)
    await scene.charge(event)
    expect((await scene.charge(refund(1, { pretend: true })))[0]?.reason).toBe('granted')
    expect(await bucket()).toEqual({ free: 970_000, spent: 30_000 })
    expect((await scene.charge(refund()))[0]?.reason).toBe('granted')
  })

  it('of what is not known, or not known any more, is denied', async () => {
    await scene.credit(1, MONEY, 1_000_000)
    expect((await scene.charge(refund()))[0]?.reason).toBe('unknownSession')
    await scene.charge(event)
    expect(
      (await scene.charge(request('event', 2, 1, [], { refund: true, sessionId: 'session-1' })))[0]
        ?.reason,
    ).toBe('unknownSession')
    for (const node of [scene, other]) node.clock.set(NOW_MS + REPLAY_MS + 1)
    expect((await other.charge(refund()))[0]?.reason).toBe('unknownSession')
    expect(await bucket()).toEqual({ free: 970_000, spent: 30_000 })
  })

  it('is in the stream as a line of its own', async () => {
    await scene.credit(1, MONEY, 1_000_000)
    await scene.charge(event)
    await scene.charge(refund())
    const reader = await openStreamReader(scene.ledger, 'reader')
    const { entries } = await reader.read(100, 1)
    const lines = entries.flatMap((entry) => entry.lines)
    expect(lines.map(({ used, charged, state }) => [used, charged, state])).toEqual([
      [2_500_000, 30_000, 'closed'],
      [-2_500_000, -30_000, 'closed'],
    ])
    expect(new Set(lines.map(({ stamp }) => stamp)).size).toBe(2)
  })
})
