import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Catalog, openCatalog } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import type { OwnerState } from '../../src/domain/bucket.ts'
import type { Line } from '../../src/domain/line.ts'
import type { AccountCommit } from '../../src/ledger/commit-layout.ts'
import { watchRecorderProgress } from '../../src/ledger/recorder-progress.ts'
import { openStreamReader, streamBacklog } from '../../src/ledger/streams.ts'
import { coalesce } from '../../src/recorder/coalesce.ts'
import { type Drain, type DrainOptions, startDrain } from '../../src/recorder/drain.ts'
import { writeFlush } from '../../src/recorder/write.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { requestRecording } from '../../src/store/recording-requests.ts'
import { writing } from '../support/ledger/fixture.ts'
import { READ_BYTES } from '../support/ledger.ts'
import {
  commitOwner,
  lineOf,
  loadOwner,
  NOW_MS,
  QUICK_DRAIN,
  startTestStores,
  type TestStores,
  topUp,
  use,
} from '../support/recorder/accounts.ts'
import { startStoreProxy } from '../support/store-proxy.ts'
import { waitUntil } from '../support/wait.ts'

let stores: TestStores
beforeAll(async () => {
  stores = await startTestStores()
})
afterAll(() => stores.close())

/** All that is new goes into one round, which only a request or a stop begins. */
const SLOW_ROUNDS = { gatherMs: 60_000, blockMs: 60_000, roundBytesMax: 2 ** 22 }

interface Counts {
  recorded: number
  unreadable: number
}

async function startTestDrain(more: Partial<DrainOptions> = {}, counts?: Counts): Promise<Drain> {
  const ledger = await stores.connect()
  const drain = startDrain({
    ...QUICK_DRAIN,
    ledger,
    catalog: stores.catalog,
    metrics: {
      entriesRecorded: (count) => {
        if (counts) counts.recorded += count
      },
      entriesUnreadable: (count) => {
        if (counts) counts.unreadable += count
      },
    },
    blockMs: 50,
    claimIdleMs: 100,
    claimEveryMs: 50,
    ...more,
  })
  return {
    async stop(drainMs) {
      await drain.stop(drainMs)
      await ledger.redis.close()
    },
  }
}

const isEmpty = () => expect.poll(() => streamBacklog(stores.ledger)).toBe(0)

const recordedLines = (session_id: string) => stores.catalog.lines.find({ session_id }).toArray()

/** The projection of a subscriber equals the ledger, and its lines add up to it. */
async function expectRecorded(aid: number, sid: number, lines: readonly Line[]): Promise<void> {
  const state = await loadOwner(stores.ledger, aid, sid)
  const projected = await stores.catalog.balances.find({ aid, sid }).toArray()
  expect(projected.map(({ v, free, spent }) => ({ v, free, spent }))).toEqual(
    state.buckets.map(({ free, spent }) => ({ v: state.version, free, spent })),
  )
  const stored = await stores.catalog.lines.find({ aid, sid, type: 'realtime' }).toArray()
  const summaryOf = (stamp: string, v: number, usagev: number) => `${stamp} ${v} ${usagev}`
  expect(stored.map((line) => summaryOf(line.stamp, line.v, line.usagev ?? 0)).sort()).toEqual(
    lines.map((line) => summaryOf(line.stamp, line.version, line.used)).sort(),
  )
}

/** Collections that note their bulk writes: name and number of operations. */
function countedWrites(commands: [string, number][]) {
  const counted = <Name extends 'lines' | 'balances'>(name: Name) => {
    const collection = stores.catalog[name]
    const bulkWrite = (operations: readonly never[], options: object) => {
      commands.push([name, operations.length])
      return collection.bulkWrite(operations, options)
    }
    return Object.assign(Object.create(collection), { bulkWrite }) as Catalog[Name]
  }
  return { lines: counted('lines'), balances: counted('balances') }
}

/** The next state of a subscriber, unchanged. */
async function nextOf(sid: number): Promise<AccountCommit> {
  const state = await loadOwner(stores.ledger, sid, sid)
  return writing({ ...state, version: state.version + 1 })
}

async function projectedVersion(sid: number): Promise<number | undefined> {
  return (await stores.catalog.balances.findOne({ sid }))?.v
}

/** An owner that the ledger accepts and MongoDB refuses. */
async function oddOwner(aid: number, sid: number, version = 2): Promise<OwnerState> {
  if (version === 2) await topUp(stores.ledger, aid, sid, 1_000, `op-${sid}`)
  const state = await loadOwner(stores.ledger, aid, sid)
  const [bucket] = state.buckets
  // The usage type becomes a field name, which must not contain a zero byte.
  const odd = { ...bucket!, id: 2, usaget: 'a\u0000b', credited: 0, free: 0 }
  const broken = { ...state, version, nextBucketId: 3, buckets: [...state.buckets, odd] }
  await commitOwner(stores.ledger, broken, [])
  return broken
}

describe('the recorder', () => {
  it('records the newest of lines, operations and balances, and empties the streams', async () => {
    await topUp(stores.ledger, 1, 11, 1_000, 'op-1')
    await topUp(stores.ledger, 1, 11, 1_000, 'op-1')
    let line = lineOf(1, 11, 'first-1')
    for (const units of [10, 20, 30]) line = await use(stores.ledger, line, units)
    const counts = { recorded: 0, unreadable: 0 }
    const drain = await startTestDrain({}, counts)
    await isEmpty()
    await drain.stop(1_000)
    expect(counts).toEqual({ recorded: 4, unreadable: 0 })
    await expectRecorded(1, 11, [line])
    const [operation] = await stores.catalog.lines.find({ sid: 11, type: 'balance' }).toArray()
    expect(operation).toMatchObject({ usagev: -1_000, operation_id: 'op-1', aid: 1 })
    expect(await stores.catalog.lines.countDocuments({ sid: 11 })).toBe(2)
  })

  it('takes over entries that a killed one had read and not acknowledged', async () => {
    await topUp(stores.ledger, 2, 21, 1_000, 'op-2')
    const line = await use(stores.ledger, lineOf(2, 21, 'killed-1'), 70)
    const reader = await openStreamReader(await stores.connect(), 'somebody-else')
    const lost = await reader.read(READ_BYTES, 10)
    expect(lost.entries).toHaveLength(2)
    // Killed after it had written and before it could acknowledge.
    await writeFlush(stores.catalog, coalesce(lost.entries), () => '')
    const drain = await startTestDrain()
    await isEmpty()
    await drain.stop(1_000)
    await expectRecorded(2, 21, [line])
  })

  it('never replaces a newer version by an older one', async () => {
    await topUp(stores.ledger, 3, 31, 1_000, 'op-3')
    const first = await use(stores.ledger, lineOf(3, 31, 'order-1'), 5)
    const last = await use(stores.ledger, first, 6)
    const reader = await openStreamReader(stores.ledger, 'test')
    const { entries } = await reader.read(READ_BYTES, 10)
    for (const entry of entries.toReversed()) {
      expect(await writeFlush(stores.catalog, coalesce([entry]), () => '')).toEqual(new Map())
    }
    await reader.acknowledge(entries)
    await expectRecorded(3, 31, [last])
  })

  it('leaves an unreadable entry, reports it once, and records the others', async () => {
    const counts = { recorded: 0, unreadable: 0 }
    await stores.ledger.redis.client.xadd(stores.ledger.keys.stream(0), '*', 'r', 'broken')
    const drain = await startTestDrain({}, counts)
    await topUp(stores.ledger, 4, 41, 1_000, 'op-4')
    const line = await use(stores.ledger, lineOf(4, 41, 'broken-1'), 5)
    await expect.poll(() => counts.recorded).toBe(2)
    await topUp(stores.ledger, 4, 41, 1_000, 'op-5')
    await expect.poll(() => counts.recorded).toBe(3)
    await drain.stop(1_000)
    expect(counts.unreadable).toBe(1)
    expect(await streamBacklog(stores.ledger)).toBe(1)
    await expectRecorded(4, 41, [line])
    await stores.ledger.redis.client.del(stores.ledger.keys.stream(0))
  })

  it('leaves an entry that MongoDB refuses, and records the others of its flush', async () => {
    const counts = { recorded: 0, unreadable: 0 }
    await oddOwner(8, 82)
    await topUp(stores.ledger, 4, 42, 1_000, 'op-42')
    const line = await use(stores.ledger, lineOf(4, 42, 'beside-1'), 5)
    const drain = await startTestDrain({}, counts)
    await expect.poll(() => counts.recorded).toBe(2)
    await drain.stop(1_000)
    expect(counts.unreadable).toBe(2)
    expect(await streamBacklog(stores.ledger)).toBe(2)
    await expectRecorded(4, 42, [line])
    await stores.ledger.redis.client.del(stores.ledger.keys.stream(0))
  })

  it('leaves only the refused accounts of a shared entry, each by itself', async () => {
    const written: string[] = []
    const destination = { write: (text: string) => written.push(text) }
    const log = createLogger({ name: 'test', level: 'debug', destination })
    const counts = { recorded: 0, unreadable: 0 }
    const sids = [83, 84, 85, 86, 87]
    for (const sid of sids) await topUp(stores.ledger, sid, sid, 1_000, `op-${sid}`)
    for (const sid of [86, 87]) await oddOwner(sid, sid, 2)
    for (const stream of await stores.ledger.redis.client.keys('*:l')) {
      await stores.ledger.redis.client.del(stream)
    }
    const commits = await Promise.all(sids.map((sid) => nextOf(sid)))
    await stores.ledger.commit(commits, NOW_MS)
    expect(await streamBacklog(stores.ledger)).toBe(1)
    await stores.ledger.redis.client.hset(stores.ledger.keys.owner(84, 84), 's', 'damage')
    const drain = await startTestDrain({ log }, counts)
    await expect.poll(() => counts.unreadable).toBe(3)
    expect(await Promise.all([83, 85].map(projectedVersion))).toEqual([2, 2])
    // The remaining entries are read again, and reported no more.
    await use(stores.ledger, lineOf(85, 85, 'after-1'), 5)
    await expect.poll(() => projectedVersion(85)).toBe(3)
    await drain.stop(1_000)
    expect(counts).toEqual({ recorded: 2, unreadable: 3 })
    const lines = written.map((line) => JSON.parse(line))
    const told = lines.filter(({ msg }) => msg === 'ledger entry cannot be recorded')
    expect(told.map(({ aid }) => aid).sort()).toEqual([84, 86, 87])
    const streams = await stores.ledger.redis.client.keys('*:l')
    const left = await Promise.all(
      streams.map((stream) => stores.ledger.redis.client.xrange(stream, '-', '+')),
    )
    expect(left.flat().map(([, fields]) => fields)).toEqual([
      ['84:84', ''],
      ['86:86', ''],
      ['87:87', ''],
    ])
    expect(
      left
        .flat()
        .map(([id]) => id)
        .sort(),
    ).toEqual(told.map(({ entry }) => entry).sort())
    for (const stream of streams) await stores.ledger.redis.client.del(stream)
  })

  it('names no subscriber in the log of an entry that it leaves', async () => {
    const written: string[] = []
    const destination = { write: (text: string) => written.push(text) }
    const log = createLogger({ name: 'test', level: 'info', destination })
    const counts = { recorded: 0, unreadable: 0 }
    await oddOwner(8, 77)
    await topUp(stores.ledger, 4, 78, 1_000, 'op-78')
    await stores.ledger.redis.client.hset(stores.ledger.keys.owner(4, 78), 's', 'damage')
    const drain = await startTestDrain({ log }, counts)
    await expect.poll(() => counts.unreadable).toBe(3)
    await drain.stop(1_000)
    const reasons = written.map((line) => JSON.parse(line).reason)
    expect(new Set(reasons)).toEqual(
      new Set(['cannot be sent: BSONError', expect.stringMatching(/^an owner is damaged: /)]),
    )
    for (const reason of reasons) expect(reason).not.toMatch(/77|78/)
    await stores.ledger.redis.client.del(stores.ledger.keys.stream(0))
  })

  it('writes each record of a round once, and nothing that is stored already', async () => {
    const counts = { recorded: 0, unreadable: 0 }
    await topUp(stores.ledger, 5, 52, 1_000, 'op-52')
    let line = lineOf(5, 52, 'once-1')
    for (let count = 0; count < 20; count += 1) line = await use(stores.ledger, line, 1)
    const commands: [string, number][] = []
    const catalog = { ...stores.catalog, ...countedWrites(commands) }
    const drain = await startTestDrain({ catalog, gatherMs: 20 }, counts)
    await expect.poll(() => counts.recorded).toBe(21)
    expect(commands).toEqual([
      ['lines', 2],
      ['balances', 1],
    ])
    await expectRecorded(5, 52, [line])
    commands.length = 0
    // Names the owner and the session of an entry that has been recorded.
    const { keys, redis } = stores.ledger
    const sessionKey = line.stamp.slice(0, 22)
    await redis.client.xadd(keys.stream(keys.partitionOf(5)), '*', '5:52', sessionKey)
    await expect.poll(() => counts.recorded).toBe(22)
    await drain.stop(1_000)
    expect(commands).toEqual([])
  })

  it('writes lines of open segments that wait when it stops', async () => {
    const many = Array.from({ length: 520 }, (_, index) => index)
    await topUp(stores.ledger, 5, 53, 100_000, 'op-53')
    const lines: Line[] = []
    for (const index of many) {
      lines.push(await use(stores.ledger, lineOf(5, 53, `wait-${index}`), 1))
    }
    const counts = { recorded: 0, unreadable: 0 }
    const drain = await startTestDrain(SLOW_ROUNDS, counts)
    await expect.poll(() => counts.recorded).toBe(521)
    for (const index of many) lines[index] = await use(stores.ledger, lines[index] as Line, 1)
    await drain.stop(20_000)
    expect(counts.recorded).toBe(1_041)
    await expectRecorded(5, 53, lines)
  })

  it('writes waiting lines individually if one of a round cannot be sent', async () => {
    const many = Array.from({ length: 520 }, (_, index) => index)
    await topUp(stores.ledger, 5, 54, 100_000, 'op-54')
    const lines: Line[] = []
    for (const index of many) {
      lines.push(await use(stores.ledger, lineOf(5, 54, `beside-${index}`), 1))
    }
    const counts = { recorded: 0, unreadable: 0 }
    let isRefusing = false
    const bulkWrite = (operations: readonly never[], options: object) => {
      if (isRefusing && operations.length > 1) throw new TypeError('one of the lines')
      return stores.catalog.lines.bulkWrite(operations, options)
    }
    const refusing = Object.assign(Object.create(stores.catalog.lines), { bulkWrite })
    const catalog = { ...stores.catalog, lines: refusing }
    const drain = await startTestDrain({ ...SLOW_ROUNDS, catalog }, counts)
    await expect.poll(() => counts.recorded).toBe(521)
    for (const index of many) lines[index] = await use(stores.ledger, lines[index] as Line, 1)
    expect(await requestRecording(stores.ledger.redis)).toBe(true)
    await expect.poll(() => counts.recorded).toBe(1_041)
    const isCurrent = (line: Line) => ({ session_id: line.sessionId, v: line.version })
    const current = () => stores.catalog.lines.countDocuments({ $or: lines.map(isCurrent) })
    expect(await current()).toBeLessThan(520)
    isRefusing = true
    lines[0] = await use(stores.ledger, lines[0] as Line, 1)
    await drain.stop(20_000)
    expect(await current()).toBe(520)
  })

  it('records at once on request', async () => {
    const counts = { recorded: 0, unreadable: 0 }
    const drain = await startTestDrain({ gatherMs: 60_000 }, counts)
    const progress = watchRecorderProgress(stores.ledger)
    for (const id of ['op-55a', 'op-55b', 'op-55c']) {
      await topUp(stores.ledger, 5, 55, 1, id)
      expect(await progress.waitUntilRecorded(5)).toBe(true)
    }
    await expect.poll(() => counts.recorded).toBe(3)
    await drain.stop(1_000)
  })

  it('records the remaining entries when it stops', async () => {
    await topUp(stores.ledger, 5, 51, 1_000, 'op-6')
    let line = lineOf(5, 51, 'rest-1')
    const drain = await startTestDrain({ blockMs: 1 })
    for (let count = 0; count < 100; count += 1) line = await use(stores.ledger, line, 1)
    await drain.stop(10_000)
    expect(await streamBacklog(stores.ledger)).toBe(0)
    await expectRecorded(5, 51, [line])
  })
})

describe('a recorder that is repeatedly killed while it works, with a second one beside it', () => {
  it('loses nothing and doubles nothing', async () => {
    const sids = [61, 62, 63, 64, 65]
    const lines = new Map<number, Line[]>()
    for (const sid of sids) {
      await topUp(stores.ledger, sid, sid, 1_000_000, `op-${sid}`)
      lines.set(sid, [lineOf(sid, sid, `chaos-${sid}-1`), lineOf(sid, sid, `chaos-${sid}-2`)])
    }
    const beside = await startTestDrain({ consumer: 'beside', roundBytesMax: 200 })
    for (let round = 0; round < 12; round += 1) {
      const drain = await startTestDrain({ roundBytesMax: 200, blockMs: 1 })
      for (const sid of sids) {
        const known = lines.get(sid) ?? []
        const next = []
        for (const line of known) next.push(await use(stores.ledger, line, round + 1))
        lines.set(sid, next)
      }
      await drain.stop(0)
    }
    await isEmpty()
    await beside.stop(1_000)
    for (const sid of sids) await expectRecorded(sid, sid, lines.get(sid) ?? [])
  })
})

describe('a recorder while a store is down', () => {
  it('MongoDB: the streams keep the entries, and it resumes by itself', async () => {
    const proxy = await startStoreProxy(stores.mongo.url)
    const { database } = stores.mongo
    const options = { url: proxy.url, database, timeoutMs: 300, appName: 'test' }
    const catalog = await openCatalog(options)
    const counts = { recorded: 0, unreadable: 0 }
    const drain = await startTestDrain({ catalog }, counts)
    await topUp(stores.ledger, 7, 71, 1_000, 'op-7')
    await expect.poll(() => counts.recorded).toBe(1)
    await proxy.cut()
    let line = await use(stores.ledger, lineOf(7, 71, 'away-1'), 5)
    line = await use(stores.ledger, line, 6)
    expect(await streamBacklog(stores.ledger)).toBe(2)
    expect(await recordedLines('away-1')).toEqual([])
    await proxy.restore()
    await isEmpty()
    await drain.stop(1_000)
    await catalog.close()
    await proxy.close()
    await expectRecorded(7, 71, [line])
  })

  it('MongoDB: a connection lost during a write is not an answer', async () => {
    const proxy = await startStoreProxy(stores.mongo.url)
    const { database } = stores.mongo
    const catalog = await openCatalog({
      url: proxy.url,
      database,
      timeoutMs: 5_000,
      appName: 'test',
    })
    const lines = Array.from({ length: 50 }, (_, index) => lineOf(9, 91, `amid-${index}`))
    const round = coalesce([{ lines, operations: [], owners: [] }])
    await catalog.ping()
    proxy.hang()
    const writing = writeFlush(catalog, round, () => '').catch((reason: unknown) => reason)
    // More than a driver sends for a heartbeat alone.
    await waitUntil('the write is on its way', () => proxy.taken() > 5_000)
    await proxy.cut()
    expect(await writing).toBeInstanceOf(CatalogUnavailableError)
    await catalog.close()
  })

  it('Redis: it resumes by itself, also if the streams have to be opened again', async () => {
    const counts = { recorded: 0, unreadable: 0 }
    const drain = await startTestDrain({}, counts)
    await topUp(stores.ledger, 8, 81, 1_000, 'op-8')
    await expect.poll(() => counts.recorded).toBe(1)
    await stores.server.kill9()
    await stores.server.restart()
    await expect.poll(() => stores.ledger.redis.isReady()).toBe(true)
    await stores.ledger.redis.client.del(stores.ledger.keys.stream(0))
    const line = await use(stores.ledger, lineOf(8, 81, 'again-1'), 5)
    await isEmpty()
    await drain.stop(1_000)
    await expectRecorded(8, 81, [line])
  })
})
