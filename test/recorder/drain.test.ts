import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCatalog } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import type { OwnerState } from '../../src/domain/bucket.ts'
import type { Line } from '../../src/domain/line.ts'
import type { AccountCommit } from '../../src/ledger/commit-layout.ts'
import { stateField } from '../../src/ledger/keys.ts'
import { openStreamReader, streamBacklog } from '../../src/ledger/streams.ts'
import { coalesce } from '../../src/recorder/coalesce.ts'
import { writeFlush } from '../../src/recorder/write.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { writing } from '../support/ledger/fixture.ts'
import { READ_BYTES } from '../support/ledger.ts'
import {
  commitOwner,
  lineOf,
  loadOwner,
  NOW_MS,
  startTestStores,
  type TestStores,
  topUp,
  use,
} from '../support/recorder/accounts.ts'
import { expectRecorded, startTestDrain } from '../support/recorder/test-drain.ts'
import { startStoreProxy } from '../support/store-proxy.ts'
import { waitUntil } from '../support/wait.ts'

let stores: TestStores
beforeAll(async () => {
  stores = await startTestStores()
})
afterAll(() => stores.close())

const isEmpty = () => expect.poll(() => streamBacklog(stores.ledger)).toBe(0)

const recordedLines = (session_id: string) => stores.catalog.lines.find({ session_id }).toArray()

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
    const drain = await startTestDrain(stores, {}, counts)
    await isEmpty()
    await drain.stop(1_000)
    expect(counts).toEqual({ recorded: 4, unreadable: 0 })
    await expectRecorded(stores, 1, 11, [line])
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
    const drain = await startTestDrain(stores)
    await isEmpty()
    await drain.stop(1_000)
    await expectRecorded(stores, 2, 21, [line])
  })

  it('never replaces a newer version by an older one', async () => {
    await topUp(stores.ledger, 3, 31, 1_000, 'op-3')
    const first = await use(stores.ledger, lineOf(3, 31, 'order-1'), 5)
    const last = await use(stores.ledger, first, 6)
    const reader = await openStreamReader(stores.ledger, 'test')
    const { entries } = await reader.read(READ_BYTES, 10)
    const counted = { operations: 0, duplicates: 0 }
    const count = (operations: number, duplicates: number) => {
      counted.operations += operations
      counted.duplicates += duplicates
    }
    for (const entry of entries.toReversed()) {
      const refused = await writeFlush(stores.catalog, coalesce([entry]), () => '', { count })
      expect(refused).toEqual(new Map())
    }
    await reader.acknowledge(entries)
    await expectRecorded(stores, 3, 31, [last])
    // Each entry has the newest states: of the line only the first is written, of the bucket, too.
    expect(counted.duplicates).toBeGreaterThan(0)
    expect(counted.operations).toBeGreaterThan(counted.duplicates)
  })

  it('leaves an unreadable entry, reports it once, and records the others', async () => {
    const counts = { recorded: 0, unreadable: 0 }
    await stores.ledger.redis.client.xadd(stores.ledger.keys.stream(0), '*', 'r', 'broken')
    const drain = await startTestDrain(stores, {}, counts)
    await topUp(stores.ledger, 4, 41, 1_000, 'op-4')
    const line = await use(stores.ledger, lineOf(4, 41, 'broken-1'), 5)
    await expect.poll(() => counts.recorded).toBe(2)
    await topUp(stores.ledger, 4, 41, 1_000, 'op-5')
    await expect.poll(() => counts.recorded).toBe(3)
    await drain.stop(1_000)
    expect(counts.unreadable).toBe(1)
    expect(await streamBacklog(stores.ledger)).toBe(1)
    await expectRecorded(stores, 4, 41, [line])
    await stores.ledger.redis.client.del(stores.ledger.keys.stream(0))
  })

  it('leaves an entry that MongoDB refuses, and records the others of its flush', async () => {
    const counts = { recorded: 0, unreadable: 0 }
    await oddOwner(8, 82)
    await topUp(stores.ledger, 4, 42, 1_000, 'op-42')
    const line = await use(stores.ledger, lineOf(4, 42, 'beside-1'), 5)
    const drain = await startTestDrain(stores, {}, counts)
    await expect.poll(() => counts.recorded).toBe(2)
    await drain.stop(1_000)
    expect(counts.unreadable).toBe(2)
    expect(await streamBacklog(stores.ledger)).toBe(2)
    await expectRecorded(stores, 4, 42, [line])
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
    await stores.ledger.redis.client.hset(stores.ledger.keys.account(84), stateField(84), 'damage')
    const drain = await startTestDrain(stores, { log }, counts)
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
    // The format of an owner, without the rest of one.
    const damage = '\u0002damage'
    await stores.ledger.redis.client.hset(stores.ledger.keys.account(4), stateField(78), damage)
    const drain = await startTestDrain(stores, { log }, counts)
    await expect.poll(() => counts.unreadable).toBe(3)
    await drain.stop(1_000)
    const reasons = written.map((line) => JSON.parse(line).reason)
    expect(new Set(reasons)).toEqual(
      new Set(['cannot be sent: BSONError', expect.stringMatching(/^an owner is damaged: /)]),
    )
    for (const reason of reasons) expect(reason).not.toMatch(/77|78/)
    await stores.ledger.redis.client.del(stores.ledger.keys.stream(0))
  })

  it('records the remaining entries when it stops', async () => {
    await topUp(stores.ledger, 5, 51, 1_000, 'op-6')
    let line = lineOf(5, 51, 'rest-1')
    const drain = await startTestDrain(stores, { blockMs: 1 })
    for (let count = 0; count < 100; count += 1) line = await use(stores.ledger, line, 1)
    await drain.stop(10_000)
    expect(await streamBacklog(stores.ledger)).toBe(0)
    await expectRecorded(stores, 5, 51, [line])
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
    const beside = await startTestDrain(stores, { consumer: 'beside', roundBytesMax: 200 })
    for (let round = 0; round < 12; round += 1) {
      const drain = await startTestDrain(stores, { roundBytesMax: 200, blockMs: 1 })
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
    for (const sid of sids) await expectRecorded(stores, sid, sid, lines.get(sid) ?? [])
  })
})

describe('a recorder while a store is down', () => {
  it('MongoDB: the streams keep the entries, and it resumes by itself', async () => {
    const proxy = await startStoreProxy(stores.mongo.url)
    const { database } = stores.mongo
    const options = { url: proxy.url, database, timeoutMs: 20_000, appName: 'test' }
    const catalog = await openCatalog(options)
    const counts = { recorded: 0, unreadable: 0 }
    const drain = await startTestDrain(stores, { catalog }, counts)
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
    await expectRecorded(stores, 7, 71, [line])
  })

  it('MongoDB: a connection lost during a write is not an answer', async () => {
    const proxy = await startStoreProxy(stores.mongo.url)
    const { database } = stores.mongo
    const catalog = await openCatalog({
      url: proxy.url,
      database,
      timeoutMs: 10_000,
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
    const drain = await startTestDrain(stores, {}, counts)
    await topUp(stores.ledger, 8, 81, 1_000, 'op-8')
    await expect.poll(() => counts.recorded).toBe(1)
    await stores.server.kill9()
    await stores.server.restart()
    await expect.poll(() => stores.ledger.redis.isReady()).toBe(true)
    await stores.ledger.redis.client.del(stores.ledger.keys.stream(0))
    const line = await use(stores.ledger, lineOf(8, 81, 'again-1'), 5)
    await isEmpty()
    await drain.stop(1_000)
    await expectRecorded(stores, 8, 81, [line])
  })
})
