import { beforeEach, describe, expect, it } from 'vitest'
import { sessionField, sessionKeyOf, stateField } from '../../src/ledger/keys.ts'
import { openStreamReader } from '../../src/ledger/streams.ts'
import { type SweepResult, sweepPartition } from '../../src/ledger/sweep.ts'
import { coalesce } from '../../src/recorder/coalesce.ts'
import { READ_BYTES } from '../support/ledger.ts'
import { useTwoNodes } from '../support/workers/nodes.ts'
import {
  aidOf,
  DATA_UNITS,
  GRACE_MS,
  MONEY,
  NOW_MS,
  REPLAY_MS,
  request,
  SHARED_DATA,
  service,
  VALIDITY_MS,
} from '../support/workers/processor-fixture.ts'

const LIFE_MS = VALIDITY_MS + GRACE_MS
const SETTINGS = { batchMax: 100, leaseMs: 5000, replayMs: REPLAY_MS, token: 'one' }

const { scene, other } = useTwoNodes()

async function sweep(nowMs: number, aid = 1, by = scene()): Promise<SweepResult> {
  const settings = by === scene() ? SETTINGS : { ...SETTINGS, token: 'two' }
  return sweepPartition(by.ledger, by.ledger.keys.partitionOf(aid), settings, nowMs)
}

const amounts = async (sid: number) =>
  (await scene().owner(sid)).state.buckets.map(({ spent, reserved, free }) => [
    spent,
    reserved,
    free,
  ])

const NOTHING = { status: 'done', expired: 0, moved: 0, forgotten: 0, corrupt: 0 }

describe('an abandoned session', () => {
  it('returns all units to the buckets that held them, as its line shows', async () => {
    await scene().credit(1, DATA_UNITS, 1_000_000)
    await scene().credit(1, SHARED_DATA, 1_000_000)
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(1_500_000)]))
    await scene().charge(request('update', 1, 1, [service(3_000_000, 400_000)]))
    expect(await amounts(1)).toEqual([
      [400_000, 600_000, 0],
      [0, 20_000, 980_000],
    ])
    expect(await amounts(0)).toEqual([[0, 1_000_000, 0]])
    expect(await sweep(NOW_MS + LIFE_MS - 1)).toEqual(NOTHING)
    expect(await sweep(NOW_MS + LIFE_MS)).toEqual({ ...NOTHING, expired: 1 })
    expect(await amounts(1)).toEqual([
      [400_000, 0, 600_000],
      [0, 0, 1_000_000],
    ])
    expect(await amounts(0)).toEqual([[0, 0, 1_000_000]])
    const reader = await openStreamReader(scene().ledger, 'test')
    const lines = (await reader.read(READ_BYTES, 1)).entries.flatMap((entry) => entry.lines)
    expect(lines.at(-1)).toMatchObject({ state: 'expired', counts: { used: 400_000 } })
    const [asking] = await other().charge(request('update', 1, 2, [service(100)]))
    expect(asking).toMatchObject({ reason: 'sessionClosed', detail: 'it expired' })
    expect(await scene().redis.client.zcard(scene().ledger.keys.expiry(1))).toBe(0)
  })

  it('is distinguished from a session in use, which moves to its new expiry', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(1_000_000)]))
    scene().clock.set(NOW_MS + 500_000)
    await scene().charge(request('update', 1, 1, [service(1_000_000, 10)]))
    expect(await sweep(NOW_MS + LIFE_MS)).toEqual({ ...NOTHING, moved: 1 })
    expect(await sweep(NOW_MS + LIFE_MS + 499_999)).toEqual(NOTHING)
    expect(await sweep(NOW_MS + LIFE_MS + 500_000)).toEqual({ ...NOTHING, expired: 1 })
  })

  it('is expired immediately if live traffic of its owner came first', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(1_000_000)]))
    const second = { sessionId: 'second' }
    await scene().charge(request('start', 1, 0, [service(1_000_000)], second))
    const nowMs = NOW_MS + LIFE_MS
    scene().clock.set(nowMs)
    // Between the sweep's load and its commit another request of the same owner is charged.
    let charged = 0
    const load: ReturnType<typeof other>['ledger']['load'] = async (expected) => {
      const loaded = await other().ledger.load(expected)
      charged += 1
      if (charged > 2) return loaded
      await scene().charge(request('update', 1, charged, [service(1_000_000, 5)], second))
      return loaded
    }
    const slow = { ...other(), ledger: { ...other().ledger, load } }
    expect(await sweep(nowMs, 1, slow)).toEqual({ ...NOTHING, expired: 1, moved: 1 })
    expect(charged).toBe(3)
    expect(await amounts(1)).toEqual([[10_000, 10_000, 980_000]])
  })

  it('is due again after the lease if its account is never free', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(1_000_000)]))
    const nowMs = NOW_MS + LIFE_MS
    const hint = Buffer.alloc(16)
    hint.writeDoubleLE(77, 0)
    hint.writeDoubleLE(nowMs + 50, 8)
    await scene().redis.client.hset(scene().ledger.keys.account(1), 't', hint)
    expect(await sweep(nowMs)).toEqual(NOTHING)
    expect(await sweep(nowMs + SETTINGS.leaseMs - 1, 1, other())).toEqual(NOTHING)
    expect(await sweep(nowMs + SETTINGS.leaseMs, 1, other())).toEqual({ ...NOTHING, expired: 1 })
  })
})

describe('usage reported after the sweep', () => {
  const late = (kind: 'update' | 'release', requestNumber: number, used: number) =>
    request(kind, 1, requestNumber, [service(1_000_000, used)])
  const setClocks = (nowMs: number) => {
    for (const node of [scene(), other()]) node.clock.set(nowMs)
  }
  const newestLines = async () => {
    const reader = await openStreamReader(scene().ledger, 'test')
    const { lines } = coalesce((await reader.read(READ_BYTES, 1)).entries)
    return [...lines.values()].map(({ version, state, counts: { used, late: isLate } }) => ({
      version,
      state,
      used,
      late: isLate,
    }))
  }

  beforeEach(async () => {
    await scene().credit(1, DATA_UNITS, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(600_000)]))
    await scene().charge(late('update', 1, 500_000))
    expect((await sweep(NOW_MS + LIFE_MS)).expired).toBe(1)
    expect(await amounts(1)).toEqual([[500_000, 0, 500_000]])
    setClocks(NOW_MS + LIFE_MS + 1)
  })

  it('is settled once on any node, and marked on the line', async () => {
    const [first] = await scene().charge(late('update', 2, 400_000))
    expect(first).toMatchObject({ reason: 'granted', detail: 'the session had expired' })
    expect(first?.services).toMatchObject([{ granted: 0, finalUnit: true }])
    expect(await other().charge(late('update', 2, 400_000))).toEqual([first])
    expect(await amounts(1)).toEqual([[900_000, 0, 100_000]])
    const [last] = await other().charge(late('release', 3, 300_000))
    expect(last).toMatchObject({ reason: 'granted', detail: 'the session had expired' })
    expect(await scene().charge(late('release', 3, 300_000))).toEqual([last])
    expect(await amounts(1)).toEqual([[1_000_000, 0, 0]])
    // 200,000 that nothing could pay are one begun interval.
    expect((await scene().owner(1)).state.owed).toBe(10_000)
    expect((await scene().charge(late('update', 4, 1)))[0]?.reason).toBe('sessionClosed')
    expect(await newestLines()).toEqual([
      { version: 4, state: 'expired', used: 1_200_000, late: true },
    ])
    expect([scene().defects, other().defects]).toEqual([[], []])
  })

  it('lets the recorder see the line as expired, also before its tombstone ends', async () => {
    expect(await newestLines()).toEqual([
      { version: 2, state: 'expired', used: 500_000, late: false },
    ])
    await scene().charge(late('update', 2, 1))
    expect(await newestLines()).toEqual([
      { version: 3, state: 'expired', used: 500_001, late: true },
    ])
  })

  it('is of an unknown session when the tombstone, which it prolongs, has ended', async () => {
    setClocks(NOW_MS + LIFE_MS + REPLAY_MS - 1)
    expect((await other().charge(late('update', 2, 1)))[0]?.reason).toBe('granted')
    expect(await sweep(NOW_MS + LIFE_MS + REPLAY_MS)).toEqual(NOTHING)
    setClocks(NOW_MS + LIFE_MS + 2 * REPLAY_MS)
    expect((await scene().charge(late('update', 3, 1)))[0]?.reason).toBe('unknownSession')
    expect(await sweep(NOW_MS + LIFE_MS + 2 * REPLAY_MS)).toEqual({ ...NOTHING, forgotten: 1 })
  })

  it('does not let its session id be opened by another account meanwhile', async () => {
    const sessionId = 'session-1'
    const [taken] = await scene().charge(request('start', 200, 9, [service(5)], { sessionId }))
    expect(taken?.reason).toBe('sessionClosed')
    expect((await scene().charge(late('update', 2, 1)))[0]?.reason).toBe('granted')
  })
})

describe('a tombstone', () => {
  const sessionKey = sessionKeyOf('test', 'session-1')
  const isThere = () => {
    const key = scene().ledger.keys.account(aidOf(1))
    return scene().redis.client.hexists(key, sessionField(1, sessionKey))
  }

  it('is forgotten also if Redis is full, because that makes room again', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(10)]))
    await scene().charge(request('release', 1, 1, [service(0, 10)]))
    const { client } = scene().redis
    const account = scene().ledger.keys.account(aidOf(1))
    const fields = await client.hlen(account)
    await client.config('SET', 'maxmemory', '1')
    try {
      expect(await sweep(NOW_MS + REPLAY_MS)).toEqual({ ...NOTHING, forgotten: 1 })
    } finally {
      await client.config('SET', 'maxmemory', '0')
    }
    expect(await client.hlen(account)).toBe(fields - 1)
  })

  it('is forgotten when its time is over', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(1_000_000)]))
    await scene().charge(request('release', 1, 1, [service(-1, 5)]))
    expect(await sweep(NOW_MS + REPLAY_MS - 1)).toEqual(NOTHING)
    expect(await isThere()).toBe(1)
    expect(await sweep(NOW_MS + REPLAY_MS)).toEqual({ ...NOTHING, forgotten: 1 })
    expect(await isThere()).toBe(0)
  })

  it('stays if its session opens again after the lease', async () => {
    expect((await scene().charge(request('start', 1, 0, [service(5)])))[0]?.reason).toBe('noCredit')
    await scene().credit(1, MONEY, 1_000_000)
    for (const node of [scene(), other()]) node.clock.set(NOW_MS + REPLAY_MS)
    const runScript: ReturnType<typeof scene>['redis']['runScript'] = async (call) => {
      if (call.name === 'forget') await other().charge(request('start', 1, 1, [service(5)]))
      return scene().redis.runScript(call)
    }
    const ledger = { ...scene().ledger, redis: { ...scene().redis, runScript } }
    expect(await sweep(NOW_MS + REPLAY_MS, 1, { ...scene(), ledger })).toEqual(NOTHING)
    expect(await isThere()).toBe(1)
    expect(await amounts(1)).toEqual([[0, 10_000, 990_000]])
  })

  it('is removed without a session that was opened again unaware of it', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('event', 1, 0, [service(1_000_000)]))
    // No sweep for a long time: the directory entry expired before the tombstone.
    await scene().redis.client.del(scene().ledger.keys.directory(sessionKey))
    const later = NOW_MS + 3 * REPLAY_MS
    other().clock.set(later)
    const [opened] = await other().charge(request('start', 1, 0, [service(2_000_000)]))
    expect(opened?.reason).toBe('granted')
    expect(await sweep(later)).toEqual(NOTHING)
    expect(await isThere()).toBe(1)
    expect(await amounts(1)).toEqual([[10_000, 20_000, 970_000]])
    expect(await sweep(later + LIFE_MS)).toEqual({ ...NOTHING, expired: 1 })
    expect(await amounts(1)).toEqual([[10_000, 0, 990_000]])
  })
})

describe('damaged data', () => {
  const damage = async (sid: number, change: (packed: Buffer) => void) => {
    const key = scene().ledger.keys.account(1)
    const packed = (await scene().redis.client.hgetBuffer(key, stateField(sid))) as Buffer
    change(packed)
    await scene().redis.client.hset(key, stateField(sid), packed)
  }

  it('does not delay the others of its account', async () => {
    for (const sid of [1, 2, 3, 4]) {
      await scene().credit(sid, MONEY, 1_000_000)
      await scene().charge(request('start', sid, 0, [service(1_000_000)]))
    }
    await scene().charge(request('start', 2, 0, [service(1_000_000)], { sessionId: 'another' }))
    await damage(2, (packed) => packed.writeUInt8(99, 0))
    // The bucket in which the session of 3 holds units belongs to another owner now.
    await damage(3, (packed) => packed.writeDoubleLE(77, 49))
    const field = sessionField(4, sessionKeyOf('test', 'session-4'))
    await scene().redis.client.hset(scene().ledger.keys.account(1), field, 'damage')
    expect(await sweep(NOW_MS + LIFE_MS)).toEqual({ ...NOTHING, expired: 1, corrupt: 4 })
    expect(await amounts(1)).toEqual([[0, 0, 1_000_000]])
    expect(await sweep(NOW_MS + LIFE_MS + 5000)).toEqual({ ...NOTHING, corrupt: 4 })
  })

  it('does not delay other accounts or tombstones of a key of another type', async () => {
    const wide = [1, 6400 + 1]
    for (const sid of wide) {
      await scene().credit(sid, MONEY, 1_000_000)
      await scene().charge(request('start', sid, 0, [service(1_000_000)]))
    }
    expect(wide.map((sid) => scene().ledger.keys.partitionOf(aidOf(sid)))).toEqual([1, 1])
    await scene().charge(request('event', 1, 0, [service(1_000_000)], { sessionId: 'event' }))
    await scene().redis.client.set(scene().ledger.keys.account(1), 'of another type')
    const swept = await sweep(NOW_MS + LIFE_MS)
    expect(swept).toEqual({ ...NOTHING, expired: 1, forgotten: 1, corrupt: 1 })
  })
})
