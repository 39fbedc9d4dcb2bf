import { describe, expect, it } from 'vitest'
import { sessionKeyOf, stateField } from '../../src/ledger/keys.ts'
import { useTwoNodes } from '../support/workers/nodes.ts'
import {
  aidOf,
  DATA_UNITS,
  LEDGER,
  MONEY,
  NOW_MS,
  openProcessorFixture,
  type ProcessorFixture,
  request,
  SHARED_DATA,
  service,
} from '../support/workers/processor-fixture.ts'

const { redis, scene, other } = useTwoNodes()

async function buckets(sid: number) {
  return (await scene().owner(sid)).state.buckets.map(({ free, reserved, spent }) => ({
    free,
    reserved,
    spent,
  }))
}

describe('a data session', () => {
  it('reserves, settles and releases from one money bucket', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    const [start] = await scene().charge(request('start', 1, 0, [service(5_000_000)]))
    expect(start).toMatchObject({ reason: 'granted', sid: 1, aid: 1 })
    expect(start?.services[0]).toMatchObject({ granted: 5_000_000, finalUnit: false })
    expect(await buckets(1)).toEqual([{ free: 950_000, reserved: 50_000, spent: 0 }])
    await scene().charge(request('update', 1, 1, [service(5_000_000, 4_500_000)]))
    // 4.5 MB are five begun intervals; the next 5 MB need five more, the first half paid already.
    expect(await buckets(1)).toEqual([{ free: 900_000, reserved: 50_000, spent: 50_000 }])
    const [release] = await scene().charge(request('release', 1, 2, [service(-1, 100_000)]))
    expect(release).toMatchObject({ reason: 'granted' })
    expect(await buckets(1)).toEqual([{ free: 950_000, reserved: 0, spent: 50_000 }])
  })

  it('answers a repeated request with the stored outcome and moves nothing', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    const opening = request('start', 1, 0, [service(5_000_000)])
    const [first] = await scene().charge(opening)
    const before = await buckets(1)
    for (const node of [scene(), other()]) expect(await node.charge(opening)).toEqual([first])
    expect(await buckets(1)).toEqual(before)
    const ending = request('release', 1, 1, [service(-1, 1_000)])
    const [last] = await scene().charge(ending)
    for (const node of [scene(), other()]) expect(await node.charge(ending)).toEqual([last])
    const [reused] = await other().charge(request('release', 1, 1, [service(-1, 2_000)]))
    expect(reused?.reason).toBe('numberReused')
    const [late] = await other().charge(request('update', 1, 2, [service(1, 2_000)]))
    expect(late?.reason).toBe('sessionClosed')
  })

  it('continues on another node, which finds its session by the directory', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(5_000_000)]))
    const anonymous = { subscriberKey: 'none' as const, subscriberValue: '' }
    const update = request('update', 1, 1, [service(1_000_000, 5_000_000)], anonymous)
    expect((await other().charge(update))[0]).toMatchObject({ reason: 'granted', sid: 1 })
    const [unknown] = await other().charge(
      request('update', 1, 1, [], { ...anonymous, sessionId: 'nobody' }),
    )
    expect(unknown?.reason).toBe('unknownSession')
    const [old] = await scene().charge(request('update', 1, 0, [service(7)]))
    expect(old?.reason).toBe('outOfOrder')
  })

  it('is denied without credit, recorded, and opens after a top-up', async () => {
    const [denied] = await scene().charge(request('start', 2, 0, [service(1_000_000)]))
    expect(denied).toMatchObject({ reason: 'noCredit' })
    await other().credit(2, DATA_UNITS, 700)
    expect((await scene().charge(request('start', 2, 0, [service(1_000_000)])))[0]).toEqual(denied)
    const [opened] = await scene().charge(request('start', 2, 1, [service(1_000_000)]))
    expect(opened?.services[0]).toMatchObject({ granted: 700, finalUnit: true })
  })

  it('is denied without a trace for unknown subscribers and rates', async () => {
    const [nobody] = await scene().charge(request('start', 10_000, 0, [service(1)]))
    expect(nobody).toMatchObject({ reason: 'unknownSubscriber', aid: 0 })
    const [noRate] = await scene().charge(
      request('start', 3, 0, [service(1, 0, { usaget: 'mms' })]),
    )
    expect(noRate).toMatchObject({ reason: 'noRate', sid: 3 })
    expect(await scene().redis.client.dbsize()).toBe(LEDGER.partitions)
  })

  it('charges several services in one session, each with its own outcome', async () => {
    await scene().credit(4, MONEY, 300_000)
    const requested = [
      service(1_000_000, 0, { ratingGroup: 10 }),
      service(600, 0, { usaget: 'call' }),
      service(1, 0, { usaget: 'mms' }),
    ]
    const [start] = await scene().charge(request('start', 4, 0, requested))
    expect(start?.services.map((one) => [one.reason, one.granted])).toEqual([
      ['granted', 1_000_000],
      // 2,000 for data; 298,000 buy access and two minutes.
      ['granted', 120],
      ['noRate', 0],
    ])
    await scene().charge(request('release', 4, 1, [service(-1, 90, { usaget: 'call' })]))
    expect(await buckets(4)).toEqual([{ free: 50_000, reserved: 0, spent: 250_000 }])
  })
})

describe('a batch', () => {
  it('fails only for a damaged owner', async () => {
    for (const sid of [1, 2, 101, 201]) await scene().credit(sid, MONEY, 1_000_000)
    await scene().redis.client.hset(scene().ledger.keys.account(aidOf(2)), stateField(2), 'damage')
    await scene().redis.client.set(scene().ledger.keys.account(aidOf(101)), 'of another type')
    const starts = [1, 2, 101, 201].map((sid) => request('start', sid, 0, [service(1_000_000)]))
    const outcomes = await scene().charge(...starts)
    const reasons = outcomes.map((outcome) => outcome.reason)
    expect(reasons).toEqual(['granted', 'corrupt', 'corrupt', 'granted'])
  })

  it('fails only for a cached owner that was damaged in Redis', async () => {
    for (const sid of [1, 2, 3]) {
      await scene().credit(sid, MONEY, 1_000_000)
      await scene().charge(request('start', sid, 0, [service(1_000_000)]))
    }
    const key = scene().ledger.keys.account(aidOf(2))
    const packed =
      (await scene()
        .redis.client.getBuffer(key)
        .catch(() => null)) ?? null
    expect(packed).toBeNull()
    const state = (await scene().redis.client.hgetBuffer(key, stateField(2))) as Buffer
    state.writeDoubleLE(state.readDoubleLE(9) + 1, 9)
    await scene().redis.client.hset(key, stateField(2), state)
    const updates = [1, 2, 3].map((sid) => request('update', sid, 1, [service(1_000_000, 500)]))
    const outcomes = await scene().charge(...updates)
    expect(outcomes.map((outcome) => outcome.reason)).toEqual(['granted', 'corrupt', 'granted'])
  })

  it('settles requests of one account one after the other and commits once', async () => {
    await scene().credit(1, SHARED_DATA, 1_000)
    const starts = [1, 2, 3, 4].map((sid) => request('start', sid, 0, [service(300)]))
    const outcomes = await scene().charge(...starts)
    expect(outcomes.map((outcome) => outcome.services[0]?.granted)).toEqual([300, 300, 300, 100])
    const { state } = await scene().owner(0)
    expect(state).toMatchObject({ version: 2 })
    expect(state.buckets[0]).toMatchObject({ free: 0, reserved: 1_000 })
  })
})

describe('contention', () => {
  it('keeps a shared bucket exact and loses no answer with several workers', async () => {
    const nodes = await Promise.all([1, 2, 3, 4].map(() => openProcessorFixture(redis().url)))
    const sids = Array.from({ length: 99 }, (_, index) => index + 1)
    const total = 1_000_000
    await scene().credit(1, SHARED_DATA, total)
    const session = async (sid: number, index: number) => {
      const node = nodes[index % nodes.length] as ProcessorFixture
      const answers = [await node.charge(request('start', sid, 0, [service(1_000)]))]
      for (let number = 1; number <= 10; number += 1) {
        const next = nodes[(index + number) % nodes.length] as ProcessorFixture
        answers.push(await next.charge(request('update', sid, number, [service(1_000, 700)])))
      }
      answers.push(await node.charge(request('release', sid, 11, [service(-1, 300)])))
      return answers.flat()
    }
    const outcomes = (await Promise.all(sids.map(session))).flat()
    expect(new Set(outcomes.map((outcome) => outcome.reason))).toEqual(new Set(['granted']))
    const [bucket] = (await scene().owner(0)).state.buckets
    const spent = sids.length * (10 * 700 + 300)
    expect(bucket).toMatchObject({ reserved: 0, spent, free: total - spent })
    for (const node of nodes) {
      expect(node.defects).toEqual([])
      await node.close()
    }
  })
})

describe('a session id', () => {
  it('belongs to the account that opened it', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().credit(200, MONEY, 1_000_000)
    const same = { sessionId: 'one-id' }
    await scene().charge(request('start', 1, 0, [service(1_000_000)], same))
    const [refused] = await other().charge(request('start', 200, 0, [service(1_000_000)], same))
    expect(refused?.reason).toBe('numberReused')
    await scene().charge(request('release', 1, 1, [], same))
    scene().clock.set(NOW_MS + 700_000)
    other().clock.set(NOW_MS + 700_000)
    const [opened] = await other().charge(request('start', 200, 0, [service(1_000_000)], same))
    expect(opened).toMatchObject({ reason: 'granted', sid: 200 })
    const location = await scene().ledger.findLocations([sessionKeyOf('test', 'one-id')])
    expect(location).toEqual([{ aid: aidOf(200), sid: 200 }])
  })
})
