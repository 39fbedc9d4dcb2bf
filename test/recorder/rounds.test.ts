import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../src/catalog/connection.ts'
import type { Line } from '../../src/domain/line.ts'
import { watchRecorderProgress } from '../../src/ledger/recorder-progress.ts'
import { requestRecording } from '../../src/store/recording-requests.ts'
import { useOpened } from '../support/opened.ts'
import {
  commitOwner,
  lineOf,
  loadOwner,
  startTestStores,
  topUp,
  use,
} from '../support/recorder/accounts.ts'
import { expectRecorded, startTestDrain } from '../support/recorder/test-drain.ts'

const stores = useOpened(startTestStores)

/** All that is new goes into one round, which only a request or a stop begins. */
const SLOW_ROUNDS = { gatherMs: 60_000, blockMs: 60_000, roundBytesMax: 2 ** 22 }

/** Collections that note their bulk writes: name and number of operations. */
function countedWrites(commands: [string, number][]) {
  const counted = <Name extends 'lines' | 'balances'>(name: Name) => {
    const collection = stores().catalog[name]
    const bulkWrite = (operations: readonly never[], options: object) => {
      commands.push([name, operations.length])
      return collection.bulkWrite(operations, options)
    }
    return Object.assign(Object.create(collection), { bulkWrite }) as Catalog[Name]
  }
  return { lines: counted('lines'), balances: counted('balances') }
}

describe('a round', () => {
  it('writes each record of a round once, and nothing that is stored already', async () => {
    const counts = { recorded: 0, unreadable: 0 }
    await topUp(stores().ledger, 5, 52, 1_000, 'op-52')
    let line = lineOf(5, 52, 'once-1')
    for (let count = 0; count < 20; count += 1) line = await use(stores().ledger, line, 1)
    const commands: [string, number][] = []
    const catalog = { ...stores().catalog, ...countedWrites(commands) }
    const drain = await startTestDrain(stores(), { catalog, gatherMs: 20 }, counts)
    await expect.poll(() => counts.recorded).toBe(21)
    expect(commands).toEqual([
      ['lines', 2],
      ['balances', 1],
    ])
    await expectRecorded(stores(), 5, 52, [line])
    commands.length = 0
    // Names the owner and the session of an entry that has been recorded.
    const { keys, redis } = stores().ledger
    const sessionKey = line.stamp.slice(0, 22)
    await redis.client.xadd(keys.stream(keys.partitionOf(5)), '*', '5:52', sessionKey)
    await expect.poll(() => counts.recorded).toBe(22)
    await drain.stop(1_000)
    expect(commands).toEqual([])
  })

  it('writes lines of open segments that wait when it stops', async () => {
    const many = Array.from({ length: 520 }, (_, index) => index)
    await topUp(stores().ledger, 5, 53, 100_000, 'op-53')
    const lines: Line[] = []
    for (const index of many) {
      lines.push(await use(stores().ledger, lineOf(5, 53, `wait-${index}`), 1))
    }
    const counts = { recorded: 0, unreadable: 0 }
    const drain = await startTestDrain(stores(), SLOW_ROUNDS, counts)
    await expect.poll(() => counts.recorded).toBe(521)
    for (const index of many) lines[index] = await use(stores().ledger, lines[index] as Line, 1)
    await drain.stop(20_000)
    expect(counts.recorded).toBe(1_041)
    await expectRecorded(stores(), 5, 53, lines)
  })

  it('writes waiting lines individually if one of a round cannot be sent', async () => {
    const many = Array.from({ length: 520 }, (_, index) => index)
    await topUp(stores().ledger, 5, 54, 100_000, 'op-54')
    const lines: Line[] = []
    for (const index of many) {
      lines.push(await use(stores().ledger, lineOf(5, 54, `beside-${index}`), 1))
    }
    const counts = { recorded: 0, unreadable: 0 }
    let isRefusing = false
    const bulkWrite = (operations: readonly never[], options: object) => {
      if (isRefusing && operations.length > 1) throw new TypeError('one of the lines')
      return stores().catalog.lines.bulkWrite(operations, options)
    }
    const refusing = Object.assign(Object.create(stores().catalog.lines), { bulkWrite })
    const catalog = { ...stores().catalog, lines: refusing }
    const drain = await startTestDrain(stores(), { ...SLOW_ROUNDS, catalog }, counts)
    await expect.poll(() => counts.recorded).toBe(521)
    for (const index of many) lines[index] = await use(stores().ledger, lines[index] as Line, 1)
    expect(await requestRecording(stores().ledger.redis)).toBe(true)
    await expect.poll(() => counts.recorded).toBe(1_041)
    const isCurrent = (line: Line) => ({ session_id: line.session.sessionId, v: line.version })
    const current = () => stores().catalog.lines.countDocuments({ $or: lines.map(isCurrent) })
    expect(await current()).toBeLessThan(520)
    isRefusing = true
    lines[0] = await use(stores().ledger, lines[0] as Line, 1)
    await drain.stop(20_000)
    expect(await current()).toBe(520)
  })

  it('records at once on request', async () => {
    const counts = { recorded: 0, unreadable: 0 }
    const drain = await startTestDrain(stores(), { gatherMs: 60_000 }, counts)
    const progress = watchRecorderProgress(stores().ledger)
    for (const id of ['op-55a', 'op-55b', 'op-55c']) {
      await topUp(stores().ledger, 5, 55, 1, id)
      expect(await progress.waitUntilRecorded(5)).toBe(true)
    }
    await expect.poll(() => counts.recorded).toBe(3)
    await drain.stop(1_000)
  })

  it('stores a balance that another recorder has changed in between', async () => {
    await topUp(stores().ledger, 5, 56, 1_000, 'op-56')
    const { buckets } = await loadOwner(stores().ledger, 5, 56)
    const isStored = async (version: number) => {
      const stored = await stores().catalog.balances.findOne({ sid: 56 })
      expect(stored).toMatchObject({ v: version, free: stored?.v === 3 ? 900 : 1_000 })
    }
    /** The same owner in its next version. */
    const commitFree = async (free: number, reserved: number) => {
      const state = await loadOwner(stores().ledger, 5, 56)
      const changed = { ...buckets[0]!, free, reserved }
      await commitOwner(
        stores().ledger,
        { ...state, version: state.version + 1, buckets: [changed] },
        [],
      )
    }
    const counts = { recorded: 0, unreadable: 0 }
    const first = await startTestDrain(stores(), SLOW_ROUNDS, counts)
    await expect.poll(() => counts.recorded).toBe(1)
    await commitFree(1_000, 0)
    await requestRecording(stores().ledger.redis)
    await expect.poll(() => counts.recorded).toBe(2)
    const second = await startTestDrain(stores(), SLOW_ROUNDS, counts)
    await commitFree(900, 100)
    await expect.poll(() => counts.recorded).toBe(3)
    await second.stop(1_000)
    await isStored(3)
    await commitFree(1_000, 0)
    await first.stop(1_000)
    await isStored(4)
  })

  it('makes room in a Redis that is full', async () => {
    const { redis } = stores().ledger
    const counts = { recorded: 0, unreadable: 0 }
    await topUp(stores().ledger, 5, 57, 1, 'op-57a')
    const drain = await startTestDrain(stores(), SLOW_ROUNDS, counts)
    await expect.poll(() => counts.recorded).toBe(1)
    await topUp(stores().ledger, 5, 57, 1, 'op-57b')
    await redis.client.config('SET', 'maxmemory', '1')
    await requestRecording(redis)
    await expect.poll(() => counts.recorded).toBe(2)
    await redis.client.config('SET', 'maxmemory', '0')
    await drain.stop(1_000)
  })
})
