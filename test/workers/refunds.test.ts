import { describe, expect, it } from 'vitest'
import { type ChargeRequest, serviceRequest } from '../../src/domain/charge-request.ts'
import { openStreamReader } from '../../src/ledger/streams.ts'
import { FALLING } from '../support/domain/tariffs.ts'
import { READ_BYTES } from '../support/ledger.ts'
import { useTwoNodes } from '../support/workers/nodes.ts'
import {
  DEFAULT_TARIFFS,
  MONEY,
  NOW_MS,
  REPLAY_MS,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

const { scene, other } = useTwoNodes({ tariffs: { ...DEFAULT_TARIFFS, VOICE: { voice: FALLING } } })

const event = request('event', 1, 0, [service(2_500_000)])
const refund = (requestNumber = 1, more: Partial<ChargeRequest> = {}) =>
  request('event', 1, requestNumber, [], { refund: true, ...more })

async function bucket() {
  const [first] = (await scene().owner(1)).state.buckets
  return { free: first?.free, spent: first?.spent }
}

describe('a refund', () => {
  it('returns the charge of the event, once, on any node', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    expect((await scene().charge(event))[0]).toMatchObject({ reason: 'granted' })
    expect(await bucket()).toEqual({ free: 970_000, spent: 30_000 })
    const [given] = await other().charge(refund())
    expect(given).toMatchObject({ reason: 'granted', services: [{ granted: 2_500_000 }] })
    expect(await bucket()).toEqual({ free: 1_000_000, spent: 0 })
    expect(await scene().charge(refund())).toEqual([given])
    expect((await scene().charge(refund(2)))[0]?.reason).toBe('nothingToRefund')
    expect(await bucket()).toEqual({ free: 1_000_000, spent: 0 })
  })

  it('that is pretended moves nothing', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(event)
    expect((await scene().charge(refund(1, { pretend: true })))[0]?.reason).toBe('granted')
    expect(await bucket()).toEqual({ free: 970_000, spent: 30_000 })
    expect((await scene().charge(refund()))[0]?.reason).toBe('granted')
  })

  it('of an unknown or forgotten event is denied', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    expect((await scene().charge(refund()))[0]?.reason).toBe('unknownSession')
    await scene().charge(event)
    expect(
      (
        await scene().charge(request('event', 2, 1, [], { refund: true, sessionId: 'session-1' }))
      )[0]?.reason,
    ).toBe('unknownSession')
    for (const node of [scene(), other()]) node.clock.set(NOW_MS + REPLAY_MS + 1)
    expect((await other().charge(refund()))[0]?.reason).toBe('unknownSession')
    expect(await bucket()).toEqual({ free: 970_000, spent: 30_000 })
  })

  const asked = (usaget: string, requested: number) => [
    serviceRequest({ usaget, requested, ratingGroup: -1 }),
  ]
  const standalone = (sid: number, requestNumber = 0, micros = 250_000) =>
    request('event', sid, requestNumber, asked('money', micros), {
      refund: true,
      sessionId: 'alone',
    })

  it('without an event credits the bucket, once, on any node', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    const [given] = await scene().charge(standalone(1))
    expect(given).toMatchObject({ reason: 'granted', services: [{ granted: 250_000 }] })
    expect(await scene().charge(standalone(1))).toEqual([given])
    expect(await other().charge(standalone(1))).toEqual([given])
    expect((await other().charge(standalone(1, 1)))[0]?.reason).toBe('nothingToRefund')
    const [money] = (await scene().owner(1)).state.buckets
    expect(money).toMatchObject({ credited: 1_250_000, spent: 0, free: 1_250_000 })
    const reader = await openStreamReader(scene().ledger, 'reader')
    const { entries } = await reader.read(READ_BYTES, 1)
    expect(entries.flatMap(({ lines }) => lines)).toMatchObject([
      { counts: { charged: -250_000, payments: [{ kind: 'creditedMoney', amount: -250_000 }] } },
    ])
  })

  it('without an event is refused beyond the limit, and under another session', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().credit(2, MONEY, 1_000_000)
    expect((await scene().charge(standalone(1, 0, 1_000_001)))[0]?.reason).toBe('refundLimit')
    expect((await scene().charge(standalone(1)))[0]?.reason).toBe('granted')
    for (const node of [scene(), other()]) {
      expect((await node.charge(standalone(2)))[0]?.reason).toBe('unknownSession')
    }
    await scene().charge(event)
    const others = request('event', 2, 1, asked('data', 5), {
      refund: true,
      sessionId: event.sessionId,
    })
    for (const node of [scene(), other()]) {
      expect((await node.charge(others))[0]?.reason).toBe('unknownSession')
    }
    expect((await scene().owner(2)).state.buckets[0]).toMatchObject({ free: 1_000_000 })
  })

  it('of a part leaves the rest to be refunded, on any node', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(event)
    const part = (requestNumber: number, units: number) =>
      request('event', 1, requestNumber, asked('data', units), { refund: true })
    expect((await scene().charge(part(1, 1_000_000)))[0]).toMatchObject({ reason: 'granted' })
    const { free } = await bucket()
    expect(free).toBeGreaterThan(970_000)
    expect((await other().charge(part(2, 1_500_001)))[0]?.reason).toBe('refundLimit')
    expect((await other().charge(part(3, 1_500_000)))[0]?.reason).toBe('granted')
    expect(await bucket()).toEqual({ free: 1_000_000, spent: 0 })
    expect((await scene().charge(part(4, 1)))[0]?.reason).toBe('nothingToRefund')
  })

  it('is in the stream as a line of its own', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(event)
    await scene().charge(refund())
    const reader = await openStreamReader(scene().ledger, 'reader')
    const { entries } = await reader.read(READ_BYTES, 1)
    const lines = entries.flatMap((entry) => entry.lines)
    expect(lines.map(({ state, counts: { used, charged } }) => [used, charged, state])).toEqual([
      [2_500_000, 30_000, 'closed'],
      [-2_500_000, -30_000, 'closed'],
    ])
    expect(new Set(lines.map(({ stamp }) => stamp)).size).toBe(2)
  })
})

it('a price that falls credits debt that has been repaid', async () => {
  await scene().credit(1, MONEY, 50)
  const use = (number: number, used: number) =>
    request('update', 1, number, [serviceRequest({ usaget: 'voice', used, requested: 0 })])
  await scene().charge(request('start', 1, 0, []))
  expect((await scene().charge(use(1, 9)))[0]?.reason).toBe('granted')
  await scene().credit(1, MONEY, 140, 'top-up')
  expect((await scene().charge(use(2, 4)))[0]?.reason).toBe('granted')
  const { buckets, owed, repaid } = (await scene().owner(1)).state
  expect(buckets.reduce((sum, { free }) => sum + free, 0)).toBe(190 - 13)
  expect(owed - repaid).toBe(0)
})
