import { MongoNetworkError } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { moneyFormat } from '../../src/billing/currency.ts'
import type { Catalog } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import { NO_PATIENCE } from '../../src/catalog/patience.ts'
import { checkAccount } from '../../src/cli/audit/account.ts'
import { findAccounts } from '../../src/cli/audit/accounts.ts'
import { differenceText } from '../../src/cli/audit/difference.ts'
import { gatherEvidence } from '../../src/cli/audit/evidence.ts'
import { auditStores, reportLines } from '../../src/cli/audit.ts'
import type { Line } from '../../src/domain/line.ts'
import { stateField } from '../../src/ledger/keys.ts'
import { packOwner } from '../../src/ledger/owner-packing.ts'
import { watchRecorderProgress } from '../../src/ledger/recorder-progress.ts'
import type { Drain } from '../../src/recorder/drain.ts'
import { writing } from '../support/ledger/fixture.ts'
import {
  holdUnits,
  lineOf,
  loadOwner,
  NOW_MS,
  startTestStores,
  type TestStores,
  topUp,
  use,
} from '../support/recorder/accounts.ts'
import { SLOW_CLAIMS, startTestDrain } from '../support/recorder/test-drain.ts'

const GBP = moneyFormat(826)
let stores: TestStores
let drain: Drain

beforeAll(async () => {
  stores = await startTestStores()
  drain = await startTestDrain(stores, SLOW_CLAIMS)
  for (const aid of [1, 2, 3]) {
    await topUp(stores.ledger, aid, aid * 10, 1_000, `op-${aid}`)
    await use(stores.ledger, lineOf(aid, aid * 10, `line-${aid}`), 100)
    await holdUnits(stores.ledger, aid, aid * 10, 50, NOW_MS + 1_000)
  }
})
afterAll(async () => {
  await drain.stop(100)
  await stores.close()
})

const audit = (pollsMax = 200) => {
  const { ledger, catalog } = stores
  return auditStores({ ledger, catalog, recording: watchRecorderProgress(ledger, pollsMax) })
}

/** The differences found while `harm` is in effect; after `heal` there must be none. */
async function found(harm: () => Promise<unknown>, heal: () => Promise<unknown>) {
  await harm()
  try {
    const report = await audit()
    expect(report.ok).toBe(false)
    return [...report.differences.map((one) => differenceText(one, GBP)), ...report.damaged]
  } finally {
    await heal()
    expect(await audit()).toMatchObject({ ok: true })
  }
}

const accountKey = () => stores.ledger.keys.account(1)

it('finds each account once, in one pass or in several', async () => {
  for (const keysPerPass of [1_000_000, 1]) {
    const accounts = []
    for await (const account of findAccounts(stores, keysPerPass)) accounts.push(account)
    expect(accounts.sort((a, b) => a.aid - b.aid)).toEqual([
      { aid: 1, sids: [10] },
      { aid: 2, sids: [20] },
      { aid: 3, sids: [30] },
    ])
  }
})

it('reports when every unit is accounted for', async () => {
  const report = await audit()
  expect(report).toMatchObject({
    ok: true,
    accounts: 3,
    owners: 6,
    buckets: 3,
    sessions: 6,
    lines: 6,
    differences: [],
    moving: [],
    notRecorded: [],
    damaged: [],
  })
  expect(reportLines(report, GBP)).toEqual([
    'accounts 3, owners 6, buckets 3, open sessions 6, lines 6',
    'every unit is accounted for',
  ])
})

describe('the audit finds', () => {
  it('a reservation that belongs to no session', async () => {
    const state = await loadOwner(stores.ledger, 1, 10)
    const [bucket] = state.buckets
    const harmed = {
      ...state,
      buckets: [{ ...bucket!, reserved: bucket!.reserved + 7, free: bucket!.free - 7 }],
    }
    const write = (owner: typeof state) =>
      stores.ledger.redis.client.hset(accountKey(), stateField(10), packOwner(owner))
    const texts = await found(
      () => write(harmed),
      () => write(state),
    )
    const where = 'account 1, subscriber 10, bucket 1'
    expect(texts).toEqual([
      `${where}: reserved, as its sessions hold: 50 expected, 57 found`,
      `${where}: reserved in the projection: 57 expected, 50 found`,
      `${where}: free in the projection: 843 expected, 850 found`,
    ])
  })

  it('a missing line', async () => {
    const [line] = await stores.catalog.lines.find({ session_id: 'line-1' }).toArray()
    const texts = await found(
      () => stores.catalog.lines.deleteOne({ stamp: line!.stamp }),
      () => stores.catalog.lines.insertOne(line!),
    )
    expect(texts).toEqual([
      'account 1, subscriber 10, bucket 1: spent, as its lines say: 100 expected, 0 found',
    ])
  })

  it('no difference in a line of an open session that is to be recorded later', async () => {
    const filter = { session_id: 'line-1' }
    const older = { v: 0, usagev: 40, 'payments.0.usagev': 40 }
    const line = await stores.catalog.lines.findOne(filter)
    await stores.catalog.lines.updateOne(filter, { $set: older as object })
    try {
      expect(await audit()).toMatchObject({ ok: true })
    } finally {
      await stores.catalog.lines.replaceOne(filter, line!)
    }
  })

  it('a projection that is newer than the ledger', async () => {
    const filter = { aid: 1, sid: 10 }
    const texts = await found(
      () => stores.catalog.balances.updateOne(filter, { $inc: { v: 1_000 } }),
      () => stores.catalog.balances.updateOne(filter, { $inc: { v: -1_000 } }),
    )
    expect(texts).toEqual([
      'account 1, subscriber 10, bucket 1: version in the projection: 3 expected, 1003 found',
    ])
  })

  it('an owner that cannot be decoded', async () => {
    const { client } = stores.ledger.redis
    const state = (await client.hgetBuffer(accountKey(), stateField(10))) as Buffer
    const texts = await found(
      () => client.hset(accountKey(), stateField(10), '\u0002damaged'),
      () => client.hset(accountKey(), stateField(10), state),
    )
    expect(texts).toEqual([expect.stringMatching(/^owner 1:10: an owner is damaged: /)])
  })

  it('stream entries that no recorder processes, and their account', async () => {
    const { client } = stores.ledger.redis
    // On a single Redis an entry can be in any stream.
    const stream = stores.ledger.keys.stream(stores.ledger.keys.partitionOf(1))
    await client.xadd(stream, '*', '2:20', '', 'r', 'cannot be read')
    const report = await audit(5)
    await client.del(stream)
    expect(report).toMatchObject({ ok: false, notRecorded: [2], differences: [] })
    expect(reportLines(report, GBP)).toContain('account 2: its entries are not recorded yet')
  })

  it('stream entries that no recorder processes, of an unknown account', async () => {
    const { client } = stores.ledger.redis
    const stream = stores.ledger.keys.stream(0)
    await client.xadd(stream, '*', 'r', 'cannot be read')
    const report = await audit(5)
    await client.del(stream)
    expect(report.notRecorded.sort()).toEqual([1, 2, 3])
  })

  it('no difference in an unrecorded entry of two accounts from one call', async () => {
    await drain.stop(10_000)
    const commits = await Promise.all(
      // The entry is in the stream of account 2, but account 1 is audited first.
      [2, 1].map(async (aid) => {
        const state = await loadOwner(stores.ledger, aid, aid * 10)
        return writing({ ...state, version: state.version + 1 })
      }),
    )
    await stores.ledger.commit(commits, NOW_MS)
    const report = await audit(5)
    expect(report).toMatchObject({ ok: false, differences: [] })
    expect(report.notRecorded.sort()).toEqual([1, 2])
    drain = await startTestDrain(stores, SLOW_CLAIMS)
    expect(await audit()).toMatchObject({ ok: true })
  })
})

describe('an account that changes during the audit', () => {
  /** Uses units after each read of the ledger, up to `times` times. */
  const moving = async (aid: number, times: number) => {
    await topUp(stores.ledger, aid, aid * 10, 1_000, `op-${aid}`)
    let line: Line = lineOf(aid, aid * 10, `line-${aid}`)
    let left = times
    const recording = watchRecorderProgress(stores.ledger)
    return {
      async waitUntilRecorded(aid: number) {
        if (left > 0) line = await use(stores.ledger, line, 3)
        left -= 1
        return recording.waitUntilRecorded(aid)
      },
    }
  }

  it('is audited again until it is unchanged between two reads', async () => {
    const { ledger, catalog } = stores
    const stores4 = { ledger, catalog, recording: await moving(4, 5) }
    const findings = await checkAccount(stores4, { aid: 4, sids: [40] })
    expect(findings).toMatchObject({ isMoving: false, differences: [], lines: 2, buckets: 1 })
  })

  it('is reported if it never stops changing', async () => {
    const { ledger, catalog } = stores
    const stores5 = { ledger, catalog, recording: await moving(5, Number.POSITIVE_INFINITY) }
    const findings = await checkAccount(stores5, { aid: 5, sids: [50] }, 4)
    expect(findings.isMoving).toBe(true)
    expect(await audit()).toMatchObject({ ok: true, accounts: 5 })
  })
})

describe('an outage between the batches of a read', () => {
  /** The first `outages` reads of owner 2 fail when they have read something. */
  function failing(name: 'lines' | 'balances', outages: number, patience = NO_PATIENCE): Catalog {
    let left = outages
    const { unguarded } = stores.catalog
    const find = (filter: { aid?: number }, options: object) => {
      const cursor = unguarded[name].find(filter as never, { ...options, batchSize: 1 })
      if ((filter.aid ?? 2) !== 2 || left === 0) return cursor
      left -= 1
      let calls = 0
      const next = (cursor.hasNext as () => Promise<boolean>).bind(cursor)
      const hasNext = async () => {
        calls += 1
        if (calls === 1) return next()
        throw new MongoNetworkError('connection closed')
      }
      async function* documents() {
        if (await hasNext()) yield* cursor.readBufferedDocuments()
        await hasNext()
      }
      return Object.assign(cursor, { hasNext, [Symbol.asyncIterator]: documents })
    }
    const collection = { find } as never
    return { ...stores.catalog, unguarded: { ...unguarded, [name]: collection }, patience }
  }

  const storesWith = (catalog: Catalog) => {
    return { ledger: stores.ledger, catalog, recording: watchRecorderProgress(stores.ledger) }
  }

  it('leaves an account unread, which is named', async () => {
    const report = await auditStores(storesWith(failing('lines', Number.POSITIVE_INFINITY)))
    expect(report).toMatchObject({ ok: false, differences: [] })
    const text = 'account 2: MongoDB: read the lines of an owner: connection closed'
    expect(report.unread).toEqual([text])
  })

  it('ends the audit if the accounts cannot be found', async () => {
    await expect(auditStores(storesWith(failing('balances', 1)))).rejects.toThrow(
      CatalogUnavailableError,
    )
  })

  it.each(['lines', 'balances'] as const)('repeats the read of %s as a whole', async (name) => {
    const patient = { ...NO_PATIENCE, forMs: 60_000, pauseMs: 1 }
    expect(await auditStores(storesWith(failing(name, 2, patient)))).toEqual(await audit())
    const account = { aid: 2, sids: [20] }
    const expected = await gatherEvidence(storesWith(stores.catalog), account, 0)
    expect(await gatherEvidence(storesWith(failing(name, 2, patient)), account, 0)).toEqual(
      expected,
    )
  })
})
