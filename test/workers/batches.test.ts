import { beforeEach, describe, expect, it } from 'vitest'
import { sessionKeyOf, stateField } from '../../src/ledger/keys.ts'
import { openSessions } from '../../src/ledger/streams.ts'
import { SESSIONS_MAX } from '../../src/workers/owner-cache.ts'
import { useTwoNodes } from '../support/workers/nodes.ts'
import {
  aidOf,
  DATA_UNITS,
  MONEY,
  NOW_MS,
  openProcessorFixture,
  type ProcessorFixture,
  REPLAY_MS,
  request,
  SHARED_DATA,
  service,
} from '../support/workers/processor-fixture.ts'

const { redis, scene, other } = useTwoNodes()

const bucketOf = async (sid: number) => (await scene().owner(sid)).state.buckets[0]
const reasonsOf = (outcomes: { reason: string }[]) => outcomes.map(({ reason }) => reason)

describe('an event', () => {
  it('is debited whole or not at all, and its repetition moves nothing', async () => {
    await scene().credit(1, DATA_UNITS, 100)
    const event = request('event', 1, 0, [service(60)])
    const [first] = await scene().charge(event)
    expect(first?.services[0]).toMatchObject({ reason: 'granted', granted: 60 })
    for (const node of [scene(), other()]) expect(await node.charge(event)).toEqual([first])
    expect(await bucketOf(1)).toMatchObject({ spent: 60, reserved: 0, free: 40 })
    const more = { sessionId: 'second' }
    const [second] = await scene().charge(request('event', 1, 0, [service(41)], more))
    expect(second?.reason).toBe('noCredit')
    expect(await bucketOf(1)).toMatchObject({ spent: 60, reserved: 0, free: 40 })
    const [reused] = await other().charge(request('event', 1, 0, [service(61)]))
    expect(reused?.reason).toBe('numberReused')
    expect(await openSessions(scene().ledger)).toBe(0)
    const entry = scene().ledger.keys.directory(sessionKeyOf('test', 'session-1'))
    expect(await scene().redis.client.pttl(entry)).toBeLessThanOrEqual(2 * REPLAY_MS)
  })

  it('that is granted after a denial is stored for as long as a session', async () => {
    await scene().credit(1, SHARED_DATA, 1_000)
    await scene().charge(request('start', 2, 0, [service(1_000)]))
    // Denied, then granted from units that another session returns, all in one batch.
    const outcomes = await scene().charge(
      request('start', 1, 0, [service(500)]),
      request('release', 2, 1, []),
      request('start', 1, 1, [service(500)]),
    )
    expect(reasonsOf(outcomes)).toEqual(['noCredit', 'granted', 'granted'])
    const entry = scene().ledger.keys.directory(sessionKeyOf('test', 'session-1'))
    expect(await scene().redis.client.pttl(entry)).toBeGreaterThan(2 * REPLAY_MS)
  })
})

describe('a stale cache', () => {
  it('answers sequence errors only from fresh states', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    const requested = [service(1_000_000)]
    await scene().charge(request('start', 1, 0, requested))
    await scene().charge(request('update', 1, 5, requested))
    await other().charge(request('release', 1, 6, []))
    other().clock.set(NOW_MS + REPLAY_MS)
    scene().clock.set(NOW_MS + REPLAY_MS)
    await other().charge(request('start', 1, 0, requested))
    // By the cached state number 1 would be out of order.
    expect(reasonsOf(await scene().charge(request('update', 1, 1, requested)))).toEqual(['granted'])
  })

  it('of one owner is reloaded as a whole with newer state of the other owner', async () => {
    for (const sid of [1, 2]) await scene().credit(sid, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(1_000_000)]))
    await other().credit(2, SHARED_DATA, 1_000)
    await other().charge(request('start', 2, 0, [service(1_000)]))
    // By the cached state the account has no shared bucket; the session read from Redis holds one.
    const [outcome] = await scene().charge(request('update', 2, 1, [service(-1, 400)]))
    expect(outcome?.reason).toBe('granted')
    expect(await bucketOf(0)).toMatchObject({ spent: 400, reserved: 0, free: 600 })
  })

  it('of session locations is corrected by the directory', async () => {
    for (const sid of [1, 200]) await scene().credit(sid, MONEY, 1_000_000)
    const requested = [service(1_000_000)]
    const same = { sessionId: 'same' }
    await scene().charge(request('start', 1, 0, requested, same))
    await other().charge(request('release', 1, 1, [], same))
    for (const node of [scene(), other()]) node.clock.set(NOW_MS + REPLAY_MS)
    await other().charge(request('start', 200, 0, requested, same))
    const [outcome] = await scene().charge(request('update', 200, 1, requested, same))
    expect(outcome).toMatchObject({ reason: 'granted', sid: 200 })
    const [nowhere] = await scene().charge(request('update', 1, 1, [], { sessionId: 'nowhere' }))
    expect(nowhere?.reason).toBe('unknownSession')
  })

  it('of any size leaves amounts exact', async () => {
    const tiny = await openProcessorFixture(redis().url, { ownersCachedMax: 1 })
    const sids = [1, 2, 3, 101, 102, 201, 301, 401]
    await scene().credit(1, SHARED_DATA, 1_000_000)
    for (const sid of sids) await scene().credit(sid, MONEY, 1_000_000)
    const all = (make: (sid: number) => ReturnType<typeof request>) =>
      tiny.charge(...sids.map(make))
    const granted = sids.map(() => 'granted')
    const size = [service(1_000)]
    expect(reasonsOf(await all((sid) => request('start', sid, 0, size)))).toEqual(granted)
    for (let number = 1; number <= 3; number += 1) {
      const outcomes = await all((sid) => request('update', sid, number, [service(1_000, 1_000)]))
      expect(reasonsOf(outcomes)).toEqual(granted)
    }
    const last = await all((sid) => request('release', sid, 4, [service(-1, 500)]))
    expect(reasonsOf(last)).toEqual(granted)
    expect(await bucketOf(0)).toMatchObject({ reserved: 0, spent: 3 * 3_500 })
    expect(await bucketOf(101)).toMatchObject({ reserved: 0, spent: 10_000 })
    expect(tiny.defects).toEqual([])
    await tiny.close()
  })

  it('does not lose sessions of a subscriber who has more than are cached', async () => {
    const count = SESSIONS_MAX + 200
    await scene().credit(1, DATA_UNITS, 10_000_000)
    const indexes = Array.from({ length: count }, (_, index) => index)
    const all = (
      node: ProcessorFixture,
      kind: 'start' | 'update' | 'release',
      number: number,
      used: number,
    ) =>
      node.charge(
        ...indexes.map((index) =>
          request(kind, 1, number, [service(100, used)], { sessionId: `s${index}` }),
        ),
      )
    expect(new Set(reasonsOf(await all(scene(), 'start', 0, 0)))).toEqual(new Set(['granted']))
    // Retransmitted to another node: it must not open anything a second time.
    expect(new Set(reasonsOf(await all(other(), 'start', 0, 0)))).toEqual(new Set(['granted']))
    expect(await bucketOf(1)).toMatchObject({ reserved: count * 100 })
    for (const [node, number] of [
      [other(), 1],
      [scene(), 2],
    ] as const) {
      const outcomes = await all(node, 'update', number, 70)
      expect(new Set(reasonsOf(outcomes))).toEqual(new Set(['granted']))
    }
    // It caches no sessions rather than all: the next request has to read its own.
    const one = request('update', 1, 3, [service(100, 10)], { sessionId: 's0' })
    const { stats } = await scene().processor.process({
      requests: [one],
      mayLookUp: true,
      deadlineMs: Number.POSITIVE_INFINITY,
    })
    expect(stats).toMatchObject({ loads: 1 })
    await all(other(), 'release', 4, 10)
    expect(await bucketOf(1)).toMatchObject({ reserved: 0, spent: count * 150 + 10 })
    expect(await openSessions(scene().ledger)).toBe(0)
  })
})

describe('one session id of two subscribers of an account', () => {
  const same = { sessionId: 'same' }
  const buckets = () => Promise.all([bucketOf(1), bucketOf(2)])
  const locationOf = () => scene().ledger.findLocations([sessionKeyOf('test', 'same')])

  beforeEach(async () => {
    for (const sid of [1, 2]) await scene().credit(sid, DATA_UNITS, 1_000)
  })

  it('opens for the first of a batch alone, as in two batches', async () => {
    const starts = [1, 2, 1].map((sid) => request('start', sid, 0, [service(100)], same))
    const [first, ...rest] = await scene().charge(...starts)
    expect(first).toMatchObject({ reason: 'granted', sid: 1 })
    expect(reasonsOf(rest)).toEqual(['numberReused', 'granted'])
    expect(rest[1]).toEqual(first)
    const later = request('start', 2, 1, [service(100)], same)
    expect(reasonsOf(await scene().charge(later))).toEqual(['outOfOrder'])
    expect(await locationOf()).toEqual([{ aid: aidOf(1), sid: 1 }])
    expect(await openSessions(scene().ledger)).toBe(1)
    const [update] = await scene().charge(request('update', 1, 1, [service(100, 70)], same))
    expect(update).toMatchObject({ reason: 'granted', sid: 1 })
    expect(await buckets()).toMatchObject([{ spent: 70, reserved: 100 }, { free: 1_000 }])
  })

  it('is debited from one of them by events', async () => {
    const events = [2, 1, 2].map((sid) => request('event', sid, -1, [service(60)], same))
    expect(reasonsOf(await scene().charge(...events))).toEqual([
      'granted',
      'sessionClosed',
      'granted',
    ])
    expect(await buckets()).toMatchObject([{ spent: 0 }, { spent: 60, free: 940 }])
    expect(await locationOf()).toEqual([{ aid: aidOf(2), sid: 2 }])
  })

  it.each([1, 2])('belongs to the subscriber to whom it is granted: subscriber %d', async (sid) => {
    // Both are denied first, then each requests the available units.
    const order = [1, 2, sid, 3 - sid]
    const events = order.map((asking, number) =>
      request('event', asking, number, [service(number < 2 ? 5_000 : 100)], same),
    )
    const reasons = reasonsOf(await scene().charge(...events))
    expect(reasons).toEqual(['noCredit', 'noCredit', 'granted', 'sessionClosed'])
    const spent = (await buckets()).map((bucket) => bucket?.spent)
    expect(spent).toEqual(sid === 1 ? [100, 0] : [0, 100])
    expect(await locationOf()).toEqual([{ aid: aidOf(sid), sid }])
  })

  it('is refunded to the subscriber it was debited from', async () => {
    const event = request('event', 1, 0, [service(60)], same)
    const refund = request('event', 2, 1, [service(60)], { ...same, refund: true })
    expect(reasonsOf(await scene().charge(event, refund))).toEqual(['granted', 'unknownSession'])
    expect(await buckets()).toMatchObject([{ spent: 60 }, { spent: 0 }])
  })
})

describe('a batch', () => {
  it('serves all subscribers that share a bucket except the damaged one', async () => {
    const sids = Array.from({ length: 30 }, (_, index) => index + 1)
    await scene().credit(1, SHARED_DATA, 1_000_000)
    const starts = sids.map((sid) => request('start', sid, 0, [service(100)]))
    await scene().charge(...starts)
    await scene().redis.client.hset(scene().ledger.keys.account(aidOf(7)), stateField(7), 'damage')
    const updates = sids.map((sid) => request('update', sid, 1, [service(100, 50)]))
    const reasons = reasonsOf(await scene().charge(...updates))
    expect(reasons).toEqual(sids.map((sid) => (sid === 7 ? 'corrupt' : 'granted')))
    expect(await bucketOf(0)).toMatchObject({ spent: 29 * 50, reserved: 3_000 })
  })

  it('is not held up by a damaged entry of the directory', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(1_000_000)]))
    const damaged = sessionKeyOf('test', 'damaged')
    await scene().redis.client.set(scene().ledger.keys.directory(damaged), 'rubbish')
    const outcomes = await scene().charge(
      request('update', 2, 1, [], { sessionId: 'damaged' }),
      request('update', 1, 1, [service(1_000_000, 5)]),
    )
    expect(reasonsOf(outcomes)).toEqual(['unknownSession', 'granted'])
  })

  it('answers all others if one account cannot be looked up any further', async () => {
    for (const sid of [1, 101, 102, 201]) await scene().credit(sid, MONEY, 1_000_000)
    const same = { sessionId: 'same' }
    await other().charge(request('start', 201, 0, [service(1_000_000)], same))
    await scene().redis.client.set(scene().ledger.keys.stream(2), 'of another type')
    // The key of the session's owner has another type, so that its location cannot be followed.
    await scene().redis.client.del(scene().ledger.keys.account(aidOf(201)))
    await scene().redis.client.set(scene().ledger.keys.account(aidOf(201)), 'of another type')
    const outcomes = await scene().charge(
      request('start', 101, 0, [service(1_000_000)]),
      request('start', 102, 0, [service(1_000_000)]),
      request('start', 1, 0, [service(1_000_000)], same),
    )
    expect(reasonsOf(outcomes)).toEqual(['corrupt', 'corrupt', 'granted'])
  })

  it('moves nothing for a pretended request', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    const before = await scene().owner(1)
    const pretend = { pretend: true }
    const [outcome] = await scene().charge(request('start', 1, 0, [service(1_000_000)], pretend))
    expect(outcome).toMatchObject({ reason: 'granted', transactionId: '' })
    expect(await scene().owner(1)).toEqual(before)
    expect(await scene().ledger.findLocations([sessionKeyOf('test', 'session-1')])).toEqual([null])
  })
})
