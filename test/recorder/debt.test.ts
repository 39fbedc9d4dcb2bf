/** The projection of owners' debt, which metrics add up and a rebuild reads. */
import { expect, it } from 'vitest'
import { emptyOwner, type OwnerState } from '../../src/domain/bucket.ts'
import type { Line } from '../../src/domain/line.ts'
import { coalesce } from '../../src/recorder/coalesce.ts'
import { debtWhere } from '../../src/recorder/gauges.ts'
import { writeFlush } from '../../src/recorder/write.ts'
import { withFields } from '../support/domain/lines.ts'
import { bucketOf } from '../support/ledger/fixture.ts'
import { useOpened } from '../support/opened.ts'
import { lineOf, startTestStores } from '../support/recorder/accounts.ts'

const stores = useOpened(startTestStores)

const owing = (sid: number, version: number, owed: number, repaid = 0): OwnerState => ({
  ...emptyOwner(1, sid),
  version,
  owed,
  repaid,
  buckets: sid === 0 ? [] : [bucketOf(7)],
})

async function record(owners: OwnerState[], lines: Line[] = []): Promise<void> {
  const flush = coalesce([{ owners, lines, operations: [] }])
  expect(await writeFlush(stores().catalog, flush, () => '')).toEqual(new Map())
}

const debts = async () =>
  Promise.all(
    [0, { $gt: 0 }].map(async (sid) => {
      const { micros, owners } = await debtWhere(stores().catalog, { sid })
      return [micros, owners]
    }),
  )

const falling = (version: number): Line => {
  const terms = { method: 'volume' as const, unitScale: 1, factor: 1, factorDigits: 0, minimum: 0 }
  const tariff = { tiers: [], access: 0, extraDigits: 0, terms: { ...terms, rounding: null } }
  return withFields(lineOf(1, 11, 'volume'), { version, tariff })
}

it('recorded debt is of the newest version, repaid or taken back altogether', async () => {
  expect(await debts()).toEqual([
    [0, 0],
    [0, 0],
  ])
  await record([owing(0, 3, 50), owing(11, 3, 9, 2), owing(12, 3, 4)])
  await record([owing(0, 2, 80), owing(12, 4, 4, 4)])
  expect(await debts()).toEqual([
    [50, 1],
    [7, 1],
  ])
  // Only a falling price takes debt back as if it had never existed.
  await record([owing(0, 4, 0), owing(11, 4, 2, 2)], [falling(2)])
  expect(await debts()).toEqual([
    [0, 0],
    [0, 0],
  ])
})

it('no debt is recorded for owners that never had any', async () => {
  await record(
    [owing(13, 1, 0), owing(0, 5, 0)],
    [withFields(falling(3), { sid: 13, stamp: 'other' })],
  )
  const recorded = await stores().catalog.balances.find({ bucket_id: 0 }).toArray()
  expect(recorded.map(({ sid }) => sid).sort()).toEqual([0, 11, 12])
})
