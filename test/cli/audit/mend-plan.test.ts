import { describe, expect, it } from 'vitest'
import { moneyFormat } from '../../../src/billing/currency.ts'
import { balanceDocument } from '../../../src/catalog/records/usage/balance-document.ts'
import { emptySums, type OwnerSums } from '../../../src/catalog/records/usage/line-sums.ts'
import type { AccountEvidence, OwnerEvidence } from '../../../src/cli/audit/evidence.ts'
import { explain } from '../../../src/cli/audit/explain.ts'
import { type OwnerPlan, planMend } from '../../../src/cli/audit/mend-plan.ts'
import { type Bucket, emptyOwner, type OwnerState } from '../../../src/domain/bucket.ts'
import { bucketOf } from '../../support/domain/owners.ts'

const GBP = moneyFormat(826)
const AMOUNTS = { priority: 50, credited: 1_000, spent: 100, reserved: 50, free: 850 }
const UNITS = bucketOf({ prepaidIncludeId: 2, ...AMOUNTS })
const MONEY: Bucket = { ...UNITS, id: 2, prepaidIncludeId: 1, kind: 'totalCost', usaget: '' }

function ownerOf(buckets: Bucket[], more: Partial<OwnerState> = {}): OwnerState {
  return { ...emptyOwner(1, 10), version: 5, nextBucketId: 9, buckets, ...more }
}

/** Recorded as of a version, with sums of lines that differ from the ledger as given. */
function evidenceOf(
  state: OwnerState,
  sums: Partial<Pick<OwnerSums, 'owed' | 'repaid'>>,
  buckets: Record<number, { spent: number; credited: number; isCounter?: boolean }>,
  recordedVersion = state.version,
  recorded: OwnerState = state,
): AccountEvidence {
  const lines = Object.entries(buckets).map(
    ([id, bucketSums]) => [Number(id), { isCounter: false, ...bucketSums }] as const,
  )
  const owner: OwnerEvidence = {
    state,
    sessions: [],
    sums: { ...emptySums(), ...sums, buckets: new Map(lines) },
    projected: recorded.buckets.map((bucket) =>
      balanceDocument({ ...recorded, version: recordedVersion }, bucket, ''),
    ),
  }
  return { aid: 1, owners: [owner], different: [], later: [], unknown: [], lost: [] }
}

function planOf(evidence: AccountEvidence): OwnerPlan {
  const { owners, unsettled } = planMend(evidence)
  expect(unsettled).toEqual([])
  expect(owners).toHaveLength(1)
  for (const { credited, spent, reserved, free } of owners[0]?.after.buckets ?? []) {
    expect(spent + reserved + free).toBe(credited)
  }
  return owners[0] as OwnerPlan
}

const NOTHING = { credited: 0, spent: 0, owed: 0, repaid: 0 }

describe('a mend', () => {
  it('is not needed where ledger and record agree', () => {
    const same = { 1: { spent: 100, credited: 1_000 } }
    expect(planMend(evidenceOf(ownerOf([UNITS]), {}, same)).owners).toEqual([])
  })

  it('leaves totals of usage as they are, which no line pays', () => {
    const same = { 1: { spent: 100, credited: 1_000 } }
    const counted = { credited: 0, spent: 70, reserved: 0, free: -70, limit: 2 ** 52 }
    const total = { ...UNITS, ...counted, id: 3, usaget: '', counter: 'total/call/usagev' }
    expect(planMend(evidenceOf(ownerOf([UNITS, total]), {}, same)).owners).toEqual([])
  })

  it('charges the amounts of lines, and needs no further line for them', () => {
    const evidence = evidenceOf(ownerOf([UNITS]), {}, { 1: { spent: 300, credited: 1_000 } }, 8)
    const { after, buckets } = planOf(evidence)
    expect(after.version).toBe(9)
    expect(after.buckets).toEqual([{ ...UNITS, spent: 300, free: 650 }])
    expect(buckets).toMatchObject([{ mended: NOTHING, unpaid: 0 }])
  })

  it('credits the top-ups on record', () => {
    const evidence = evidenceOf(ownerOf([UNITS]), {}, { 1: { spent: 100, credited: 1_200 } })
    const { after, buckets } = planOf(evidence)
    expect(after.buckets).toEqual([{ ...UNITS, credited: 1_200, free: 1_050 }])
    expect(buckets).toMatchObject([{ mended: NOTHING }])
  })

  it('keeps what the ledger has beyond the record, and writes a line for it', () => {
    const evidence = evidenceOf(ownerOf([UNITS]), {}, { 1: { spent: 70, credited: 900 } })
    const { after, buckets } = planOf(evidence)
    expect(after.buckets).toEqual([UNITS])
    expect(buckets).toMatchObject([{ mended: { ...NOTHING, credited: 100, spent: 30 } }])
    expect(explain(evidence, planMend(evidence), GBP).mends).toEqual([
      'bucket 1 of subscriber 10: gets a line for what is not recorded',
    ])
  })

  it('writes off missing units, never those that sessions have reserved', () => {
    const evidence = evidenceOf(ownerOf([UNITS]), {}, { 1: { spent: 1_100, credited: 1_000 } })
    const { after, buckets } = planOf(evidence)
    expect(after.buckets).toEqual([{ ...UNITS, credited: 1_150, spent: 1_100, free: 0 }])
    expect(buckets).toMatchObject([{ unpaid: 150, mended: { ...NOTHING, credited: 150 } }])
    expect(explain(evidence, planMend(evidence), GBP).mends).toEqual([
      'bucket 1 of subscriber 10: credited 1000 -> 1150, spent 100 -> 1100, free 850 -> 0; ' +
        '150 beyond the credit are written off',
    ])
  })

  it('turns missing money into debt', () => {
    const evidence = evidenceOf(ownerOf([MONEY]), {}, { 2: { spent: 1_100, credited: 1_000 } })
    const { after, buckets, debt } = planOf(evidence)
    expect(after.buckets).toEqual([{ ...MONEY, spent: 950, free: 0 }])
    expect(after.owed).toBe(150)
    expect(buckets).toMatchObject([{ mended: { ...NOTHING, spent: -150, owed: 150 } }])
    expect(debt).toEqual(NOTHING)
    expect(explain(evidence, planMend(evidence), GBP).mends).toEqual([
      'bucket 2 of subscriber 10: spent 0.0001 GBP -> 0.00095 GBP, free 0.00085 GBP -> 0 GBP; ' +
        '0.00015 GBP beyond the credit are owed',
      'subscriber 10: debt 0.00015 GBP more',
    ])
  })

  it('restores debt, and how much of it was repaid', () => {
    const same = { 1: { spent: 100, credited: 1_000 } }
    const evidence = evidenceOf(ownerOf([UNITS], { owed: 5 }), { owed: 90, repaid: 40 }, same)
    const { after, debt } = planOf(evidence)
    expect(after).toMatchObject({ owed: 90, repaid: 40 })
    expect(debt).toEqual(NOTHING)
  })

  it('reopens a bucket that only the record has, but not a counter of an ended cycle', () => {
    const counter = { ...UNITS, id: 3, counter: 'credit', limit: 10 }
    const recorded = ownerOf([UNITS, { ...MONEY, id: 9 }, counter])
    const same = { 1: { spent: 100, credited: 1_000 } }
    const evidence = evidenceOf(
      ownerOf([UNITS]),
      {},
      { ...same, 3: { spent: 5, credited: 0, isCounter: true }, 9: { spent: 20, credited: 500 } },
      6,
      recorded,
    )
    const { after } = planOf(evidence)
    expect(after.nextBucketId).toBe(10)
    expect(after.buckets).toEqual([
      UNITS,
      { ...MONEY, id: 9, credited: 500, spent: 20, reserved: 0, free: 480 },
    ])
  })

  it('records a balance again where only its record has another state', () => {
    const same = { 1: { spent: 100, credited: 1_000 } }
    const evidence = evidenceOf(ownerOf([UNITS]), {}, same, 7)
    const { after, buckets } = planOf(evidence)
    expect(buckets).toEqual([])
    expect(after).toEqual({ ...ownerOf([UNITS]), version: 8 })
    expect(explain(evidence, planMend(evidence), GBP)).toMatchObject({
      causes: ['subscriber 10: version 7 on record; the ledger has version 5'],
      mends: ['records the balances of subscriber 10 as the ledger has them'],
    })
  })

  it('leaves buckets that are damaged, or have no terms on record, to a person', () => {
    const damaged = ownerOf([{ ...UNITS, free: 1 }])
    const two = { 1: { spent: 300, credited: 1_000 }, 7: { spent: 0, credited: 10 } }
    expect(planMend(evidenceOf(damaged, {}, two))).toEqual({
      owners: [],
      unsettled: ['account 1, subscriber 10: damaged in the ledger itself'],
    })
    expect(planMend(evidenceOf(ownerOf([UNITS]), {}, two)).unsettled).toEqual([
      'account 1, subscriber 10, bucket 7: its terms are not on record',
    ])
  })
})
