import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { epochRecordOf } from '../../src/catalog/installation.ts'
import { balanceDocument } from '../../src/catalog/records/usage/balance-document.ts'
import type { LineDocument } from '../../src/catalog/records/usage/documents.ts'
import { lineDocument } from '../../src/catalog/records/usage/line-document.ts'
import { differenceText } from '../../src/cli/audit/difference.ts'
import { auditStores } from '../../src/cli/audit.ts'
import { VERSIONS_SKIPPED } from '../../src/cli/rebuild/account-records.ts'
import { type RestoredAccount, rebuild } from '../../src/cli/rebuild/rebuild.ts'
import { accountJson, accountLines } from '../../src/cli/rebuild/report.ts'
import type { OwnerState } from '../../src/domain/bucket.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { LedgerLostError } from '../../src/ledger/epochs.ts'
import { lostPartitions } from '../../src/ledger/install.ts'
import { unpackResult } from '../../src/ledger/record-packing.ts'
import { watchRecorderProgress } from '../../src/ledger/recorder-progress.ts'
import type { Drain } from '../../src/recorder/drain.ts'
import { GBP, operation, owner, paid, usage } from '../support/cli/recorded-accounts.ts'
import { withFields } from '../support/domain/lines.ts'
import { bucketOf, contents, operationOf } from '../support/ledger/fixture.ts'
import { TEST_EPOCH } from '../support/ledger.ts'
import { useOpened } from '../support/opened.ts'
import {
  holdUnits,
  LEDGER_SETTINGS,
  lineOf,
  loadOwner,
  NOW_MS,
  startTestStores,
  topUp,
  use,
} from '../support/recorder/accounts.ts'
import { startTestDrain } from '../support/recorder/test-drain.ts'
import { waitUntil } from '../support/wait.ts'

const { partitions, operationKeepMs } = LEDGER_SETTINGS
const SETTINGS = { ...LEDGER_SETTINGS, isDryRun: false, settleMs: 0, nowMs: NOW_MS }

const stores = useOpened(startTestStores)

/** The state after a ledger was lost: Redis is empty, and the epoch is on record. */
beforeEach(async () => {
  const { catalog, ledger } = stores()
  await ledger.redis.client.flushall()
  await catalog.balances.deleteMany({})
  await catalog.lines.deleteMany({})
  await epochRecordOf(catalog).write(TEST_EPOCH)
  // Makes this connection detect the loss now; otherwise its first call afterwards fails with it.
  await expect(loadOwner(ledger, 1, 1)).rejects.toBeInstanceOf(LedgerLostError)
})

const rebuildStores = () => {
  const { catalog, ledger } = stores()
  return { redis: ledger.redis, catalog, record: epochRecordOf(catalog) }
}

async function run(settings: Partial<typeof SETTINGS> = {}): Promise<RestoredAccount[]> {
  const accounts: RestoredAccount[] = []
  await rebuild(rebuildStores(), { ...SETTINGS, ...settings }, (one) => accounts.push(one))
  return accounts
}

async function project(state: OwnerState): Promise<void> {
  const documents = state.buckets.map((bucket) => balanceDocument(state, bucket, ''))
  await stores().catalog.balances.insertMany(documents)
}

const write = (...lines: LineDocument[]) => stores().catalog.lines.insertMany(lines)
const restored = (sid = 1) => loadOwner(stores().ledger, 1, sid)

describe('a rebuild restores', () => {
  it('credited and spent amounts; what was reserved is available again', async () => {
    const before = bucketOf(100, { spent: 30, reserved: 20, free: 50, priority: 3, toMs: 99 })
    await project(owner(1, 5, [before, bucketOf(7, { id: 4 })], { owed: 9, repaid: 4 }))
    const shared = bucketOf(10, { id: 2, kind: 'units', usaget: 'data', limit: 5, free: 10 })
    await project(owner(0, 8, [shared]))
    const [account] = await run()
    expect(await restored()).toEqual(
      owner(
        1,
        5 + VERSIONS_SKIPPED,
        [{ ...before, reserved: 0, free: 70 }, bucketOf(7, { id: 4 })],
        { owed: 9, repaid: 4 },
      ),
    )
    expect(await restored(0)).toEqual(owner(0, 8 + VERSIONS_SKIPPED, [shared]))
    expect(accountLines(account!, GBP)).toEqual([
      'account 1: owners 2, buckets 3, lines 0; ' +
        'money credited 0.000107 GBP, spent 0.00003 GBP, free 0.000077 GBP (0.00002 GBP was ' +
        'reserved); units credited 10, spent 0, free 10; debt 0.000005 GBP',
    ])
  })

  it('usage, debt, top-ups and repaid debt of lines that the projection lacks', async () => {
    await project(owner(1, 5, [bucketOf(100, { spent: 30, free: 70, toMs: 50 })]))
    await write(operation(1, 60), operation(5, 40), usage('a', [paid(30)]))
    await write(usage('b', [paid(25)], 8))
    await write(operation(7, 50, { repaid: 6, toMs: 80 }), operation(8, -10, { toMs: 80 }))
    const [account] = await run()
    const state = await restored()
    expect(state).toMatchObject({ version: 8 + VERSIONS_SKIPPED, owed: 8, repaid: 6 })
    expect(state.buckets).toMatchObject([
      { credited: 140, spent: 61, reserved: 0, free: 79, toMs: 80, priority: 0 },
    ])
    expect(accountLines(account!, GBP).slice(1)).toEqual([
      '  subscriber 1, bucket 1: lines are ahead of its projection: ' +
        'credited 0.00004 GBP, spent 0.000031 GBP more',
      '  subscriber 1: lines have 0.000008 GBP more debt',
    ])
  })

  it('archived amounts: the projection has more than the sum of all lines', async () => {
    const state = owner(1, 50, [bucketOf(100, { spent: 60, free: 40 })], { owed: 9, repaid: 9 })
    await project(state)
    await write(operation(40, 20), usage('a', [paid(5)], 2), operation(51, 30))
    await run()
    expect(await restored()).toMatchObject({ owed: 9, repaid: 9 })
    expect((await restored()).buckets).toMatchObject([{ credited: 130, spent: 60, free: 70 }])
  })

  it('a bucket that is recorded by top-ups only, as they left it', async () => {
    const units = { kind: 'units', usaget: 'data', bucketId: 3, fromMs: 5 } as const
    await write(operation(1, 100, units), operation(2, 20, { ...units, toMs: 77 }))
    await write(usage('a', [paid(30, { kind: 'units', bucketId: 3 })]))
    const [account] = await run()
    expect(await restored()).toMatchObject({ version: 2 + VERSIONS_SKIPPED, nextBucketId: 4 })
    expect((await restored()).buckets).toEqual([
      bucketOf(120, {
        id: 3,
        kind: 'units',
        usaget: 'data',
        priority: 7,
        fromMs: 5,
        toMs: 77,
        spent: 30,
        free: 90,
      }),
    ])
    expect(accountJson(account!).balances).toMatchObject([
      { sid: 1, bucket: 3, credited_ahead: 120, spent_ahead: 30, anew: true },
    ])
  })

  it('shared buckets of the account, charged by the lines of all its subscribers', async () => {
    await project(owner(0, 5, [bucketOf(100)]))
    await write(usage('a', [paid(30, { owner: 1 })], 0, 1))
    await write(usage('b', [paid(12, { owner: 1 })], 0, 2))
    await run()
    expect((await restored(0)).buckets).toMatchObject([{ spent: 42, free: 58 }])
    expect(await restored(1)).toMatchObject({ version: 0, buckets: [] })
  })

  it('debt of a subscriber without a bucket, and of its account', async () => {
    await write(
      usage('a', [], 12),
      lineDocument(withFields(lineOf(1, 1, 'b'), { debt: 9, accountDebt: 6 })),
    )
    await run()
    expect(await restored()).toMatchObject({ owed: 15, repaid: 0, buckets: [] })
    expect(await restored(0)).toMatchObject({ owed: 6, repaid: 0, buckets: [] })
  })

  it('operation ids that are still stored, so that a repetition moves nothing', async () => {
    const old = operation(1, 5, { atMs: NOW_MS - operationKeepMs - 1 })
    const before = { ...operationOf('v2', 40), toMs: FOREVER_MS, version: 2, priority: 7 }
    const recent = { ...before, before: -123_456_789_012, after: -123_456_788_972 }
    const atMs = NOW_MS - operationKeepMs / 2
    await write(old, operation(2, 40, { ...recent, atMs }))
    const [account] = await run()
    expect(account).toMatchObject({ operations: 1 })
    const { client } = stores().ledger.redis
    const key = stores().ledger.keys.operation(1, 'v2')
    expect(unpackResult((await client.getBuffer(key))!)).toEqual({ ...recent, atMs })
    expect(await client.pttl(key)).toBeLessThanOrEqual(operationKeepMs / 2)
    expect(await client.pttl(key)).toBeGreaterThan(operationKeepMs / 4)
    expect(await client.exists(stores().ledger.keys.operation(1, 'v1'))).toBe(0)
  })

  it('more owners and operations of an account than fit into one call', async () => {
    for (let sid = 1; sid <= 45; sid += 1) await project(owner(sid, 1, [bucketOf(sid)]))
    const many = Array.from({ length: 230 }, (_, index) => operation(index + 2, 1))
    await write(...many)
    expect(await run()).toMatchObject([{ operations: 230 }])
    for (const sid of [2, 20, 21, 45]) {
      expect((await restored(sid)).buckets).toMatchObject([{ credited: sid }])
    }
    expect((await restored()).buckets).toMatchObject([{ credited: 231 }])
    expect(await stores().ledger.redis.client.keys('*:op:*')).toHaveLength(230)
  })
})

describe('a rebuild never restores more than was credited on record, and reports it', () => {
  const lost = async () => {
    const [account] = await run()
    return account!.owners.flatMap(({ losses }) =>
      losses.map(({ bucket, what, amount }) => [bucket, what, amount]),
    )
  }

  it('where more was spent', async () => {
    await project(owner(1, 5, [bucketOf(100)]))
    await write(usage('a', [paid(130)]))
    const what = 'more was spent than is known to have been credited'
    expect(await lost()).toEqual([[1, what, 30]])
    expect((await restored()).buckets).toMatchObject([{ credited: 100, spent: 100, free: 0 }])
  })

  it('except with a limit, where the excess is credit on account', async () => {
    await project(owner(1, 5, [bucketOf(100, { limit: 50 })]))
    await write(usage('a', [paid(130)]))
    expect(await lost()).toEqual([])
    expect((await restored()).buckets).toMatchObject([{ credited: 100, spent: 130, free: -30 }])
  })

  it('where no credit is on record', async () => {
    await write(usage('a', [paid(30, { bucketId: 4 })]))
    const what = 'no top-up is on record; spent'
    expect(await lost()).toEqual([[4, what, 30]])
    expect(await restored()).toMatchObject({ version: 0, buckets: [] })
  })

  it('where more was withdrawn, or more debt repaid', async () => {
    await write(operation(4, -5), operation(5, 20, { bucketId: 2, repaid: 20 }))
    expect(await lost()).toEqual([
      [1, 'more was taken away than is known to have been credited', 5],
      [null, 'more debt was repaid than is known to have been incurred', 20],
    ])
    expect(await restored()).toMatchObject({ owed: 20, repaid: 20 })
    expect((await restored()).buckets).toMatchObject([
      { id: 1, credited: 0, free: 0 },
      { id: 2, credited: 20, spent: 20, free: 0 },
    ])
  })

  it('where records are damaged', async () => {
    await project(owner(1, 5, [bucketOf(100)]))
    await stores().catalog.balances.updateOne({ sid: 1 }, { $set: { credited: 0.5 } })
    await write(operation(3, 60))
    await stores().catalog.lines.insertOne({ ...operation(2, 9), owner_v: 'x' } as never)
    await stores().catalog.lines.insertOne({ aid: 1, sid: 1, type: 'flat', stamp: 'f' } as never)
    expect(await lost()).toEqual([
      [1, 'its projection is damaged', 0],
      [1, 'top-ups cannot be read', 0],
    ])
    expect((await restored()).buckets).toMatchObject([{ credited: 60, spent: 0 }])
  })
})

describe('a rebuild is refused', () => {
  it('where the ledger exists, or never existed', async () => {
    await run()
    await expect(run()).rejects.toThrow('the ledger is there: nothing to rebuild')
    await stores().ledger.redis.client.flushall()
    await stores().catalog.installation.deleteMany({})
    await expect(run()).rejects.toThrow('there never was a ledger here')
    expect(await lostPartitions(stores().ledger.redis, partitions)).toHaveLength(partitions)
  })

  it('with another number of partitions, and writes nothing into the empty Redis', async () => {
    await epochRecordOf(stores().catalog).write('1-4-before')
    const { client } = stores().ledger.redis
    await client.flushall()
    for (const isDryRun of [true, false]) {
      const eight = { ...SETTINGS, partitions: 8, isDryRun }
      const refused = rebuild(rebuildStores(), eight, () => undefined)
      await expect(refused).rejects.toThrow('is 8, but this ledger was installed with 4')
    }
    expect(await client.dbsize()).toBe(0)
  })

  it('while another one is running, which continues', async () => {
    await project(owner(1, 1, [bucketOf(100)]))
    const slow = run({ settleMs: 300 })
    const { client } = stores().ledger.redis
    const lock = stores().ledger.keys.rebuildLock
    await waitUntil('it has the lock', async () => (await client.exists(lock)) === 1)
    await expect(run()).rejects.toThrow('another rebuild is running')
    await slow
    expect((await restored()).buckets).toMatchObject([{ credited: 100 }])
    expect(await client.exists(lock)).toBe(0)
  })

  it('where Redis was emptied meanwhile: no epoch begins with half of the accounts', async () => {
    await project(owner(1, 1, [bucketOf(100)]))
    const slow = run({ settleMs: 2_000 })
    const { client } = stores().ledger.redis
    const { meta } = stores().ledger.keys
    // The last write before it waits for recorders.
    await waitUntil('it waits', async () => (await client.hexists(meta, 'format')) === 1)
    const failed = expect(slow).rejects.toThrow('redis was unavailable meanwhile')
    await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no').catch(() => undefined)
    await failed
    await waitUntil('redis is back', () => stores().ledger.redis.isReady())
    expect(await lostPartitions(stores().ledger.redis, partitions)).toHaveLength(partitions)
  })
})

it('a dry run reports the same, and writes nothing', async () => {
  await project(owner(1, 5, [bucketOf(100, { reserved: 10, free: 90 })]))
  await expect(run()).resolves.toHaveLength(1)
  const { client } = stores().ledger.redis
  await client.del(Array.from({ length: partitions }, (_, p) => stores().ledger.keys.epoch(p)))
  const before = await contents(stores().ledger)
  const [account] = await run({ isDryRun: true })
  expect(accountJson(account!)).toMatchObject({
    aid: 1,
    owners: 1,
    buckets: 1,
    losses: 0,
    money: { credited: 0.0001, voided: 0.00001, free: 0.0001 },
  })
  expect(await contents(stores().ledger)).toEqual(before)
})

it('an interrupted rebuild is repeated: nothing is charged before it is complete', async () => {
  const { ledger, catalog } = stores()
  for (const aid of [1, 2, 3, 4]) await project({ ...owner(1, 1, [bucketOf(aid)]), aid })
  const until = (end: number) => {
    let seen = 0
    const stop = () => {
      seen += 1
      if (seen > end) throw new Error('killed')
    }
    return rebuild(rebuildStores(), SETTINGS, stop)
  }
  for (const end of [0, 2, 3]) {
    await expect(until(end)).rejects.toThrow('killed')
    await expect(loadOwner(ledger, 1, 1)).rejects.toBeInstanceOf(LedgerLostError)
  }
  const failing = { ...epochRecordOf(catalog), write: () => Promise.reject(new Error('killed')) }
  const noted = { ...rebuildStores(), record: failing }
  await expect(rebuild(noted, SETTINGS, () => undefined)).rejects.toThrow('killed')
  await expect(loadOwner(ledger, 1, 1)).rejects.toBeInstanceOf(LedgerLostError)
  // Some of the epochs have already begun.
  await ledger.redis.client.set(ledger.keys.epoch(3), '2-begun')
  await expect(loadOwner(ledger, 1, 1)).rejects.toBeInstanceOf(LedgerLostError)
  await run()
  const epochs = [0, 1, 2, 3].map((partition) =>
    ledger.redis.client.get(ledger.keys.epoch(partition)),
  )
  expect(new Set(await Promise.all(epochs))).toEqual(new Set(['2-begun']))
  expect(await epochRecordOf(catalog).read()).toBe('2-begun')
  for (const aid of [1, 2, 3, 4]) {
    expect((await loadOwner(ledger, aid, 1)).buckets).toMatchObject([{ credited: aid }])
  }
})

it('a rebuild begins the next epoch, with fences that no earlier profile satisfies', async () => {
  const { ledger, catalog } = stores()
  await project(owner(1, 1, [bucketOf(1)]))
  await ledger.raiseFence(1, 1, true, 17)
  await run()
  expect(await epochRecordOf(catalog).read()).toMatch(/^2-4-[0-9a-f]{12}$/)
  const [loaded] = await ledger.load([{ aid: 1, sid: 1, sessionKeys: [] }])
  expect(loaded).toMatchObject({ fence: { number: NOW_MS, dirty: true, changedMs: 17 } })
})

describe('with the recorder, a rebuild', () => {
  let drain: Drain | undefined
  afterAll(() => drain?.stop(100))

  it('updates the projection without further commands, and the audit is clean', async () => {
    const { ledger, catalog } = stores()
    await run()
    drain = await startTestDrain(stores(), { blockMs: 20, claimIdleMs: 300, claimEveryMs: 100 })
    const audit = () => auditStores({ ledger, catalog, recording: watchRecorderProgress(ledger) })
    for (const aid of [1, 2, 3, 4, 5]) {
      await topUp(ledger, aid, aid * 10, 1_000, `op-${aid}`)
      await use(ledger, lineOf(aid, aid * 10, `line-${aid}`), 100)
      await holdUnits(ledger, aid, aid * 10, 50, NOW_MS + 1_000)
    }
    expect(await audit()).toMatchObject({ ok: true, accounts: 5, sessions: 10 })
    await ledger.redis.client.flushall()
    await expect(topUp(ledger, 1, 10, 5, 'more')).rejects.toBeInstanceOf(LedgerLostError)
    expect(await run()).toHaveLength(5)
    expect(await audit()).toMatchObject({ ok: true, accounts: 5, sessions: 0, lines: 10 })
    expect((await catalog.balances.findOne({ sid: 10 }))?.v).toBeGreaterThan(VERSIONS_SKIPPED)
    // The same operation id moves nothing; another one operates on the restored balance.
    expect(await topUp(ledger, 1, 10, 1_000, 'op-1')).toMatchObject({ before: 0, after: 1_000 })
    expect(await topUp(ledger, 1, 10, 7, 'more')).toMatchObject({ before: 900, after: 907 })
    expect(await audit()).toMatchObject({ ok: true, lines: 11 })
    // The line of an open session was to be recorded later: its usage stays charged, on no line.
    const older = { usagev: 60, 'payments.0.usagev': 60 } as object
    await catalog.lines.updateOne({ session_id: 'line-2' }, { $set: older })
    await ledger.redis.client.flushall()
    await expect(loadOwner(ledger, 2, 20)).rejects.toBeInstanceOf(LedgerLostError)
    expect(await run()).toHaveLength(5)
    expect((await loadOwner(ledger, 2, 20)).buckets).toMatchObject([{ spent: 100, free: 900 }])
    expect((await audit()).differences.map((one) => differenceText(one, GBP))).toEqual([
      'account 2, subscriber 20, bucket 1: spent, as its lines say: 100 expected, 60 found',
    ])
  })
})
