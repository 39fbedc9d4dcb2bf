/** Records that a rebuild reads, including corrections by `tollgate audit --mend`. */
import { MongoNetworkError } from 'mongodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import { NO_PATIENCE } from '../../../src/catalog/patience.ts'
import { repeatingReads } from '../../../src/catalog/repeating-reads.ts'
import { recordedAccounts } from '../../../src/cli/rebuild/recorded.ts'
import { watchRecorderProgress } from '../../../src/ledger/recorder-progress.ts'
import type { Drain } from '../../../src/recorder/drain.ts'
import { startTestStores, type TestStores, topUp } from '../../support/recorder/accounts.ts'
import { SLOW_CLAIMS, startTestDrain } from '../../support/recorder/test-drain.ts'

let stores: TestStores
let drain: Drain

beforeAll(async () => {
  stores = await startTestStores()
  drain = await startTestDrain(stores, SLOW_CLAIMS)
  await topUp(stores.ledger, 1, 10, 1_000, 'first')
  await watchRecorderProgress(stores.ledger).waitUntilRecorded(1)
})
afterAll(async () => {
  await drain.stop(100)
  await stores.close()
})

async function creditOnRecord(catalog = stores.catalog): Promise<number[]> {
  const since = { operationsMs: Number.POSITIVE_INFINITY, countersMs: 0 }
  const credits: number[] = []
  for await (const account of recordedAccounts(catalog, () => true, since)) {
    for (const { state } of account.restore()) {
      credits.push(...(state?.buckets ?? []).map(({ credited }) => credited))
    }
  }
  return credits
}

it('a correction counts by its change of the sums, not by its amount', async () => {
  expect(await creditOnRecord()).toEqual([1_000])
  const { lines } = stores.catalog
  const line = await lines.findOne({ operation_id: 'first' })
  if (line === null) throw new Error('the top-up is not recorded')
  const { _id, ...rest } = line as typeof line & { owner_v: number }
  const mended = { credited: 70, spent: 0, owed: 0, repaid: 0 }
  const correction = { stamp: 'mend', operation: 'mend', operation_id: 'mend', mended }
  await lines.insertOne({ ...rest, ...correction, owner_v: rest.owner_v + 1 } as never)
  expect(await creditOnRecord()).toEqual([1_070])
})

it('an outage is not taken for the end of the records', async () => {
  const { catalog } = stores
  let isAway = true
  const find = (filter: object, options: object) => {
    const cursor = catalog.unguarded.lines.find(filter, options)
    const sorted = cursor.sort({ aid: 1 })
    // As one of the driver, it has no further results after a failure.
    const hasNext = async () => {
      if (!isAway) return false
      isAway = false
      throw new MongoNetworkError('connection closed')
    }
    return Object.assign(cursor, { sort: () => Object.assign(sorted, { hasNext }) })
  }
  const unguarded = { ...catalog.unguarded, lines: { find } } as never
  const patience = { ...NO_PATIENCE, forMs: 60_000, pauseMs: 1 }
  const repeating = repeatingReads({ ...catalog, unguarded }, patience)
  await expect(creditOnRecord(repeating)).rejects.toThrow(CatalogUnavailableError)
})
