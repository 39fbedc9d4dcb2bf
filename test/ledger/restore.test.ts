import { beforeEach, describe, expect, it } from 'vitest'
import { beginEpoch, lostPartitions } from '../../src/ledger/install.ts'
import { acquireRebuildLock } from '../../src/ledger/rebuild-lock.ts'
import { createRestorer, LedgerStandsError } from '../../src/ledger/restore.ts'
import { restoreDirectory } from '../../src/ledger/restore-directory.ts'
import {
  bucketOf,
  contents,
  keyOf,
  loadOne,
  openLedger,
  operationOf,
  ownerOf,
  sessionOf,
  writing,
} from '../support/ledger/fixture.ts'
import { TEST_EPOCH } from '../support/ledger.ts'
import { useOpened } from '../support/opened.ts'
import { startTestRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait.ts'
import { NOW_MS } from '../support/workers/processor-fixture.ts'

const server = useOpened(startTestRedis)
const ledger = useOpened(() => openLedger(server().url))
beforeEach(async () => {
  await ledger().redis.client.flushall()
  await expect(loadOne(ledger(), 1)).rejects.toThrow()
})

const begin = (partitions: number[]) =>
  beginEpoch(ledger().redis, ledger().keys, partitions, TEST_EPOCH)
const restorer = () => createRestorer(ledger().redis, ledger().keys, NOW_MS)

describe('owners', () => {
  it('replace the remains of an earlier attempt, including its sessions', async () => {
    await begin([0])
    const session = sessionOf(1, 'a')
    const before = { sessionKey: keyOf('a'), session, before: null }
    await ledger().commit([writing(ownerOf(1, 1, []), {}, [before])], NOW_MS)
    await ledger().redis.client.del(ledger().keys.epoch(0))
    const again = restorer()
    await again.add([ownerOf(1, 9, [bucketOf(5)])], [])
    await again.flush()
    await begin([0])
    await loadOne(ledger(), 1).catch(() => undefined)
    const loaded = await loadOne(ledger(), 1, [keyOf('a')])
    expect(loaded).toMatchObject({ state: { version: 9 }, sessions: [null] })
  })

  it('are refused if the data exists', async () => {
    await begin([0])
    const before = await contents(ledger())
    const late = restorer()
    const line = operationOf('a', 1)
    await late.add([ownerOf(1, 9, [bucketOf(5)])], [{ line, ttlMs: 9_000 }])
    await expect(late.flush()).rejects.toBeInstanceOf(LedgerStandsError)
    expect(await contents(ledger())).toEqual(before)
  })

  it('are refused, all of a call, if the sums of one are inconsistent', async () => {
    const wrong = restorer()
    await wrong.add([ownerOf(1, 9, [bucketOf(5)]), ownerOf(2, 9, [bucketOf(5, { free: 6 })])], [])
    await expect(wrong.flush()).rejects.toThrow('credited is not spent + reserved + free')
    expect(await contents(ledger())).toEqual(new Map())
  })
})

it('locations of open sessions lost with another partition are restored', async () => {
  const keys = Array.from({ length: 40 }, (_, index) => keyOf(`s${index}`))
  const { client } = ledger().redis
  await begin([0, 1])
  for (const key of keys) await client.zadd(ledger().keys.expiry(1), NOW_MS, `1:7:${key}`)
  const gone = keys.filter((key) => ledger().keys.directoryPartitionOf(key) >= 2)
  await client.set(ledger().keys.directory(gone[0]!), '5:55')
  expect(await lostPartitions(ledger().redis, 4)).toEqual([2, 3])
  expect(await restoreDirectory(ledger().redis, ledger().keys, [2, 3], 60_000)).toBe(
    gone.length - 1,
  )
  await begin([2, 3])
  const homes = await ledger().findLocations(keys)
  const here = { aid: 1, sid: 7 }
  const expected = keys.map((key) => (gone.includes(key) ? here : null))
  expected[keys.indexOf(gone[0]!)] = { aid: 5, sid: 55 }
  expect(homes).toEqual(expected)
})

it('locations of closed sessions are restored too, so that repetitions are answered', async () => {
  const keys = Array.from({ length: 40 }, (_, index) => keyOf(`s${index}`))
  const { client } = ledger().redis
  await begin([0, 1])
  for (const key of keys) await client.zadd(ledger().keys.tombstones(0), NOW_MS, `4:7:${key}`)
  const gone = keys.filter((key) => ledger().keys.directoryPartitionOf(key) >= 2)
  // Its id was used again in another account, where it is open.
  await client.zadd(ledger().keys.expiry(1), NOW_MS, `1:9:${gone[0]!}`)
  expect(await restoreDirectory(ledger().redis, ledger().keys, [2, 3], 60_000)).toBe(gone.length)
  await begin([2, 3])
  const [reopened, ...closed] = await ledger().findLocations(gone)
  expect(reopened).toEqual({ aid: 1, sid: 9 })
  expect(new Set(closed.map((home) => JSON.stringify(home)))).toEqual(
    new Set([JSON.stringify({ aid: 4, sid: 7 })]),
  )
})

describe('the lock of a rebuild', () => {
  it('is held for its whole duration by one process', async () => {
    const lock = await acquireRebuildLock(ledger().redis, ledger().keys, 300)
    expect(await acquireRebuildLock(ledger().redis, ledger().keys)).toBeNull()
    const { client } = ledger().redis
    await client.pexpire(ledger().keys.rebuildLock, 150)
    const isRenewed = async () => (await client.pttl(ledger().keys.rebuildLock)) > 200
    await waitUntil('the lock is renewed', isRenewed)
    expect(lock?.isHeld()).toBe(true)
    await lock?.release()
    expect(await client.exists(ledger().keys.rebuildLock)).toBe(0)
  })

  it('is recognised as lost, and the lock of another process is left alone', async () => {
    const lock = await acquireRebuildLock(ledger().redis, ledger().keys, 60)
    const { client } = ledger().redis
    await client.set(ledger().keys.rebuildLock, 'another')
    await waitUntil('the loss is noticed', () => lock?.isHeld() === false)
    await lock?.release()
    expect(await client.get(ledger().keys.rebuildLock)).toBe('another')
  })
})
