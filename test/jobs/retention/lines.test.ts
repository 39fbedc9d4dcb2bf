/** Old lines are removed; their totals are carried, and the audit balances after any failure. */
import { beforeAll, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { auditStores } from '../../../src/cli/audit.ts'
import { recordedAccounts } from '../../../src/cli/rebuild/recorded.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { removeLines } from '../../../src/jobs/retention/lines.ts'
import type { Removal } from '../../../src/jobs/retention/removal.ts'
import { sessionField, sessionKeyOf } from '../../../src/ledger/keys.ts'
import { watchRecorderProgress } from '../../../src/ledger/recorder-progress.ts'
import { dyingAfter } from '../../support/catalog/dying.ts'
import { useOpened } from '../../support/opened.ts'
import { lineOf, NOW_MS, startTestStores, topUp, use } from '../../support/recorder/accounts.ts'
import { SLOW_CLAIMS, startTestDrain } from '../../support/recorder/test-drain.ts'

const DAY_MS = 86_400_000

const stores = useOpened(startTestStores)
useOpened(
  () => startTestDrain(stores(), SLOW_CLAIMS),
  (opened) => opened.stop(100),
)
beforeAll(async () => {
  for (const aid of [1, 2, 3]) {
    await topUp(stores().ledger, aid, aid * 10, 1_000, `op-${aid}`)
    for (const round of [1, 2]) {
      await use(stores().ledger, lineOf(aid, aid * 10, `s-${aid}-${round}`), 100)
    }
  }
  await watchRecorderProgress(stores().ledger).waitUntilRecorded(1)
  for (const aid of [1, 2, 3]) await forget(aid, aid * 10, `s-${aid}-1`)
  // As if they had ended: only the second one of each is still in the ledger.
  await stores().catalog.lines.updateMany({ type: 'realtime' }, { $set: { state: 'closed' } })
})

async function forget(aid: number, sid: number, sessionId: string): Promise<void> {
  const { redis, keys } = stores().ledger
  await redis.client.hdel(keys.account(aid), sessionField(sid, sessionKeyOf('http', sessionId)))
}

const audit = () => {
  const { ledger, catalog } = stores()
  return auditStores({ ledger, catalog, recording: watchRecorderProgress(ledger) })
}

async function totals() {
  const since = { operationsMs: Number.POSITIVE_INFINITY, countersMs: 0 }
  const found: unknown[] = []
  for await (const account of recordedAccounts(stores().catalog, () => true, since)) {
    found.push(account.restore())
  }
  return found
}

const count = () => stores().catalog.lines.countDocuments()

function remove(catalog: Catalog, days: number, aheadDays = 400): Promise<void> {
  const nowMs = NOW_MS + aheadDays * DAY_MS
  const removal: Removal = {
    catalog,
    ledger: stores().ledger,
    clock: { nowMs: () => nowMs },
    config: loadConfig({ env: {} }),
    metrics: { retentionRemoved: () => undefined, retentionEnded: () => undefined },
    beforeMs: nowMs - days * DAY_MS,
    signal: new AbortController().signal,
    removeBatch: async (remove) => {
      await catalog.transaction('remove a batch', remove)
    },
  }
  return removeLines(removal)
}

it('lines are kept while they are younger, or the ledger could still ask for them', async () => {
  expect(await count()).toBe(9)
  await remove(stores().catalog, 500)
  await remove(stores().catalog, 1, 1)
  expect(await count()).toBe(9)
})

it('the audit finds every unit at any instant, however often a process dies', async () => {
  const before = await totals()
  expect(await audit()).toMatchObject({ ok: true, lines: 9 })
  let deaths = 0
  for (let operations = 0; operations < 60; operations += 1) {
    const dying = await dyingAfter(stores().mongo, operations)
    await remove(dying.catalog, 365).catch(() => undefined)
    await dying.close()
    const report = await audit()
    expect(report.differences).toEqual([])
    expect(await totals()).toEqual(before)
    if (!dying.died()) break
    deaths += 1
  }
  // Before each read and write of the batch, of the head, and before the commit.
  expect(deaths).toBeGreaterThan(7)
  // The remaining ones belong to sessions in the ledger.
  expect(await count()).toBe(3)
  expect((await stores().catalog.carried.find().toArray()).map(({ lines }) => lines)).toEqual([
    2, 2, 2,
  ])
})

it('later lines are added to the carried totals', async () => {
  for (const aid of [1, 2, 3]) await forget(aid, aid * 10, `s-${aid}-2`)
  await remove(stores().catalog, 365)
  expect(await count()).toBe(0)
  expect(await audit()).toMatchObject({ ok: true, lines: 0 })
  expect((await stores().catalog.carried.find().toArray()).map(({ lines }) => lines)).toEqual([
    3, 3, 3,
  ])
})
