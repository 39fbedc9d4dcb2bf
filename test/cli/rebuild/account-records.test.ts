/** Restored counters: included units and money that were used, and debt. */
import { describe, expect, it } from 'vitest'
import { balanceDocument, debtBucket } from '../../../src/catalog/records/usage/balance-document.ts'
import { balanceLineDocument } from '../../../src/catalog/records/usage/documents.ts'
import { lineDocument } from '../../../src/catalog/records/usage/line-document.ts'
import { AccountRecords } from '../../../src/cli/rebuild/account-records.ts'
import { accountJson, accountLines } from '../../../src/cli/rebuild/report.ts'
import {
  type BalanceOperation,
  type OperationResult,
  operate,
} from '../../../src/domain/balance-operations.ts'
import type { Bucket, OwnerState } from '../../../src/domain/bucket.ts'
import type { CreditedInclude } from '../../../src/domain/credit.ts'
import type { OperationLine } from '../../../src/domain/line.ts'
import type { Payment } from '../../../src/domain/segment-parts.ts'
import { owner as ownerOf } from '../../support/cli/recorded-accounts.ts'
import { withFields } from '../../support/domain/lines.ts'
import { paymentOf } from '../../support/domain/requests.ts'
import { bucketOf } from '../../support/ledger/fixture.ts'
import { lineOf, NOW_MS } from '../../support/recorder/accounts.ts'

const DAY_MS = 86_400_000
const COUNTER = 'group/GOLD/0/CALLS'

const group = (more: Partial<Bucket> = {}): Bucket => ({
  ...bucketOf(0, { kind: 'units', counter: COUNTER, limit: 100, toMs: NOW_MS + DAY_MS }),
  spent: 40,
  reserved: 10,
  free: -50,
  ...more,
})

const owner = (sid: number, buckets: Bucket[]) => ownerOf(sid, 5, buckets)

const paid = (more: Partial<Payment>) => paymentOf({ counter: COUNTER, ...more })

function restored(states: readonly OwnerState[], payments: Payment[], usedMs = NOW_MS) {
  const records = new AccountRecords(1, { operationsMs: 0, countersMs: NOW_MS - 63 * DAY_MS })
  for (const state of states) {
    for (const bucket of state.buckets) records.addProjection(balanceDocument(state, bucket, ''))
  }
  const line = withFields(lineOf(1, 1, 'a'), { firstMs: usedMs, lastMs: usedMs, payments })
  records.addLine(lineDocument(line))
  const owners = records.restore()
  return { owners, account: { aid: 1, lines: 1, operations: 0, owners } }
}

describe('counters', () => {
  it('count used units again, but not reserved ones', () => {
    const { owners, account } = restored([owner(1, [group()])], [paid({ amount: 45 })])
    expect(owners[0]?.state?.buckets).toEqual([group({ spent: 45, reserved: 0, free: -45 })])
    expect(owners[0]?.losses).toEqual([])
    expect(accountLines(account, String)).toEqual([
      'account 1: owners 1, buckets 0, counters 1, lines 1',
      '  subscriber 1, bucket 1: lines are ahead of its projection: credited 0, spent 5 more',
    ])
    expect(accountJson(account)).toMatchObject({
      buckets: 0,
      counters: 1,
      money: { free: 0 },
      units: { free: 0 },
      balances: [{ counter: COUNTER, spent: 45, free: -45 }],
    })
  })

  it('of an account count the recorded limits, beside payments', () => {
    const credit = group({ kind: 'totalCost', counter: 'credit', spent: 3, reserved: 0, free: -3 })
    const { owners } = restored(
      [owner(0, [credit]), owner(1, [credit])],
      [
        paid({ kind: 'money', amount: 7, counter: 'credit' }),
        paid({ kind: 'limit', amount: 7, counter: 'credit', owner: 1 }),
      ],
    )
    for (const { state } of owners) {
      expect(state?.buckets).toEqual([{ ...credit, spent: 7, free: -7 }])
    }
  })

  it('are not restored once no usage can count in them', () => {
    const old = group({ toMs: NOW_MS - 64 * DAY_MS, reserved: 0, free: -40 })
    const current = group({ id: 2, reserved: 0, free: -40 })
    const { owners } = restored([owner(1, [old, current])], [paid({ amount: 40 })])
    expect(owners[0]).toMatchObject({ state: { buckets: [current] }, losses: [] })
  })

  it('known only from lines start from zero, which is a loss unless it is long ago', () => {
    const { owners } = restored([], [paid({ amount: 40 })])
    expect(owners[0]).toMatchObject({ state: null, losses: [{ bucket: 1, amount: 40 }] })
    expect(owners[0]?.losses[0]?.what).toBe(
      'a counter whose period is not recorded starts from zero; spent',
    )
    const before = restored([], [paid({ amount: 40 })], NOW_MS - 64 * DAY_MS)
    expect(before.owners[0]?.losses).toEqual([])
  })
})

describe('the credit of a refund that refers to no event', () => {
  const money = (credited: number) => ({
    ...bucketOf(credited, { toMs: NOW_MS + DAY_MS }),
    credited,
    spent: 0,
    reserved: 0,
    free: credited,
  })
  const refunded = (projected: number, topUp: number, amount: number) => {
    const records = new AccountRecords(1, { operationsMs: -1, countersMs: 0 })
    const { id } = money(0)
    records.addProjection(balanceDocument(owner(1, [money(projected)]), money(projected), ''))
    const include = { externalId: 1, kind: 'totalCost', usaget: '', priority: 0, unlimited: false }
    const operation = {
      include,
      amount: topUp,
      fromMs: 0,
      toMs: NOW_MS + DAY_MS,
      mode: 'inc',
    } as BalanceOperation
    const done = operate({ ...owner(1, []), version: 0, nextBucketId: id }, operation, NOW_MS)
    records.addLine(balanceLineDocument(lineOfOperation(done, operation, 'o'), ''))
    const payment = paid({ kind: 'creditedMoney', bucketId: id, amount: -amount, counter: '' })
    const line = withFields(lineOf(1, 1, 'a'), { charged: -amount, payments: [payment] })
    records.addLine(lineDocument(line))
    return records.restore()[0]?.state?.buckets[0]
  }

  it('is restored, whether the projection includes it or not', () => {
    expect(refunded(100, 100, 25)).toMatchObject({ credited: 125, free: 125, spent: 0 })
    expect(refunded(125, 100, 25)).toMatchObject({ credited: 125, free: 125, spent: 0 })
  })

  it('is not restored twice where lines were archived', () => {
    expect(refunded(325, 100, 25)).toMatchObject({ credited: 325, free: 325 })
  })
})

/** The projection as of `projected` operations; the lines of all of them. */
function rebuilt(operations: readonly BalanceOperation[], projected: number) {
  const records = new AccountRecords(1, { operationsMs: -1, countersMs: 0 })
  const lines: OperationLine[] = []
  let state: OwnerState = { ...owner(1, []), version: 0, nextBucketId: 1 }
  for (const [index, operation] of operations.entries()) {
    const done = operate(state, operation, NOW_MS)
    state = done.owner
    lines.push(lineOfOperation(done, operation, `o${index}`))
    if (index + 1 !== projected) continue
    for (const bucket of state.buckets) records.addProjection(balanceDocument(state, bucket, ''))
  }
  for (const line of lines) records.addLine(balanceLineDocument(line, ''))
  return { state, lines, records, restored: records.restore()[0] }
}

function lineOfOperation(
  done: OperationResult,
  { mode: operation }: BalanceOperation,
  operationId: string,
): OperationLine {
  const { bucket, amount, before, after, repaid, counted } = done
  const { id: bucketId = 0, prepaidIncludeId = 0, usaget = '', priority = 0 } = bucket ?? {}
  return {
    stamp: operationId,
    aid: 1,
    sid: 1,
    operationId,
    operation,
    bucketId,
    prepaidIncludeId,
    kind: bucket?.kind === 'units' ? 'units' : 'money',
    usaget,
    priority,
    atMs: NOW_MS,
    amount,
    before,
    after,
    repaid,
    version: done.owner.version,
    fromMs: bucket?.fromMs ?? NOW_MS,
    toMs: bucket?.toMs ?? NOW_MS,
    ...(bucket?.counter ? { counter: bucket.counter, limit: bucket.limit, counted } : {}),
    ...(operation === 'set' ? { asked: 30 } : {}),
    ...(operation === 'inc' ? { normalized: 5, asked: amount + 5 } : {}),
    chargingType: 'Chargingplan',
    sourceRef: 'PLAN',
    additional: { a: 1 },
  }
}

describe('operations', () => {
  const include = { externalId: 2, kind: 'units', usaget: 'data', priority: 5, unlimited: false }
  const pack = { include: include as CreditedInclude, fromMs: NOW_MS, toMs: NOW_MS + DAY_MS }
  const into = { mode: 'transfer_in', amount: 0, counted: 0 } as const
  const operations: BalanceOperation[] = [
    { ...pack, mode: 'inc', amount: 100 },
    { mode: 'heading' },
    { ...pack, mode: 'set', amount: 30 },
    { ...into, terms: group({ fromMs: NOW_MS }), counted: 40 },
    { ...into, terms: bucketOf(0, { prepaidIncludeId: 3, toMs: NOW_MS + DAY_MS }), amount: 60 },
    { mode: 'transfer_out', bucketId: 3 },
    { ...into, terms: group({ fromMs: NOW_MS }), counted: 45 },
    { mode: 'close', bucketId: 1 },
  ]

  it.each(operations.map((_, index) => index))(
    'result in the same state, whether the projection has the first %i or all of them',
    (projected) => {
      const { state, restored } = rebuilt(operations, projected)
      expect(restored?.losses).toEqual([])
      expect(restored?.state?.buckets).toEqual(state.buckets)
      expect(restored?.state?.nextBucketId).toBe(state.nextBucketId)
      expect(restored?.state?.version).toBeGreaterThan(state.version)
    },
  )

  it('are restored unchanged, for clients that repeat them', () => {
    const { lines, records } = rebuilt(operations, 0)
    expect(records.operations).toEqual(lines)
  })
})

it('debt without a bucket is restored in its last state, also where its lines are archived', () => {
  const records = new AccountRecords(1, { operationsMs: 0, countersMs: NOW_MS })
  for (const sid of [0, 1]) {
    const state = { ...owner(sid, []), owed: 9, repaid: 4 + sid }
    records.addProjection(balanceDocument(state, debtBucket(state), ''))
    // The counter was dropped with its cycle, when the debt was higher.
    const earlier = { ...state, version: 3, owed: 30, repaid: 0 }
    records.addProjection(balanceDocument(earlier, group({ id: 2, toMs: 1 }), ''))
  }
  expect(records.restore().map(({ state, losses }) => ({ state, losses }))).toMatchObject([
    { state: { sid: 0, owed: 9, repaid: 4, buckets: [], nextBucketId: 9 }, losses: [] },
    { state: { sid: 1, owed: 9, repaid: 5, buckets: [], nextBucketId: 9 }, losses: [] },
  ])
})
