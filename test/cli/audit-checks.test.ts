import { describe, expect, it } from 'vitest'
import { moneyFormat } from '../../src/billing/currency.ts'
import { balanceDocument, debtBucket } from '../../src/catalog/records/usage/balance-document.ts'
import { balanceLineDocument } from '../../src/catalog/records/usage/documents.ts'
import { lineDocument } from '../../src/catalog/records/usage/line-document.ts'
import { addLine, emptySums } from '../../src/catalog/records/usage/line-sums.ts'
import { differenceText } from '../../src/cli/audit/difference.ts'
import {
  addHolds,
  checkConserved,
  checkHolds,
  type Holds,
} from '../../src/cli/audit/ledger-check.ts'
import { checkLines, checkProjection } from '../../src/cli/audit/recorded-check.ts'
import { type BalanceOperation, operate } from '../../src/domain/balance-operations.ts'
import { type Bucket, emptyOwner, type OwnerState } from '../../src/domain/bucket.ts'
import type { CreditedInclude } from '../../src/domain/credit.ts'
import type { Line, OperationLine } from '../../src/domain/line.ts'
import type { Payment } from '../../src/domain/segment-parts.ts'
import type { Session } from '../../src/domain/session.ts'
import { withFields } from '../support/domain/lines.ts'
import { moneyOf } from '../support/domain/owners.ts'
import { lineOf } from '../support/recorder/accounts.ts'

const bucketOf = (more: Partial<Bucket> = {}) =>
  moneyOf(100, { priority: 1, toMs: 1, spent: 60, reserved: 10, free: 30, ...more })
const ownerOf = (bucket: Partial<Bucket> = {}, more: Partial<OwnerState> = {}): OwnerState => ({
  ...emptyOwner(1, 11),
  version: 5,
  owed: 20,
  repaid: 15,
  buckets: [bucketOf(bucket)],
  ...more,
})
const GBP = moneyFormat(826)
const texts = (differences: ReturnType<typeof checkConserved>) =>
  differences.map((one) => differenceText(one, GBP))

describe('the audit within the ledger', () => {
  it('accepts a bucket whose amounts add up', () => {
    expect(checkConserved(ownerOf())).toEqual([])
  })

  it.each([
    [{ free: 31 }, 'spent + reserved + free: 0.0001 GBP expected, 0.000101 GBP found'],
    [{ spent: -1, free: 91 }, 'spent, not negative: 0 GBP expected, -0.000001 GBP found'],
    [{ reserved: -1, free: 41 }, 'reserved, not negative: 0 GBP expected, -0.000001 GBP found'],
    [{ spent: 95, free: -5 }, 'free, not negative: 0 GBP expected, -0.000005 GBP found'],
  ])('reports a bucket with %o', (bucket, text) => {
    expect(texts(checkConserved(ownerOf(bucket)))).toEqual([
      `account 1, subscriber 11, bucket 1: ${text}`,
    ])
  })

  it('accepts negative available units of a bucket with a limit', () => {
    expect(checkConserved(ownerOf({ spent: 95, free: -5, limit: 10 }))).toEqual([])
  })

  it('reports debt that is repaid more than once', () => {
    expect(texts(checkConserved(ownerOf({}, { repaid: 21 })))).toEqual([
      'account 1, subscriber 11: repaid, not more than owed: ' +
        '0.00002 GBP expected, 0.000021 GBP found',
    ])
  })

  it('compares reserved units with the reservations of open sessions, for both owners', () => {
    const ref = (owner: 0 | 1, id: number) => ({ owner, id })
    const reservation = {
      units: 12,
      slices: [
        { bucket: ref(1, 7), units: 5 },
        { bucket: null, units: 7 },
      ],
      money: [
        { source: { ...ref(0, 1), limitCounter: null }, micros: 6 },
        { source: { ...ref(0, 1), limitCounter: ref(1, 8) }, micros: 4 },
      ],
    }
    const session = (state: Session['state']) =>
      ({ state, services: [{ reservation }] }) as unknown as Session
    const own: Holds = new Map()
    const shared: Holds = new Map()
    for (const [holds, slot] of [
      [own, 0],
      [shared, 1],
    ] as const) {
      addHolds(holds, [session('open'), session('closed'), null], slot)
    }
    expect([[...own], [...shared]]).toEqual([
      [[1, 10]],
      [
        [7, 5],
        [8, 4],
      ],
    ])
    expect(checkHolds(ownerOf(), own)).toEqual([])
    expect(texts(checkHolds(ownerOf({ reserved: 9 }), shared))).toEqual([
      'account 1, subscriber 11, bucket 1: reserved, as its sessions hold: ' +
        '0 GBP expected, 0.000009 GBP found',
      'account 1, subscriber 11, bucket 7: reserved in a bucket that is not there: ' +
        '5 expected, nothing found',
      'account 1, subscriber 11, bucket 8: reserved in a bucket that is not there: ' +
        '4 expected, nothing found',
    ])
  })
})

describe('the audit of recorded lines', () => {
  const operation: OperationLine = {
    stamp: 'op',
    aid: 1,
    sid: 11,
    operationId: 'a',
    operation: 'inc',
    bucketId: 1,
    prepaidIncludeId: 1,
    kind: 'money',
    usaget: '',
    atMs: 0,
    amount: 100,
    before: 0,
    after: 85,
    repaid: 15,
    version: 1,
    priority: 0,
    fromMs: 0,
    toMs: 1,
  }
  const payment = (owner: 0 | 1, bucketId: number, amount: number): Payment => ({
    owner,
    bucketId,
    prepaidIncludeId: 1,
    kind: 'money',
    amount,
    counter: '',
    left: 0,
    total: 0,
  })
  const payments = [payment(0, 1, 45), payment(1, 7, 3)]
  const line: Line = withFields(lineOf(1, 11, 'one'), { debt: 20, payments })
  const sums = () => {
    const own = emptySums()
    const shared = emptySums()
    addLine(lineDocument(line), own, shared)
    addLine(balanceLineDocument(operation, 'MONEY'), own, shared)
    return { own, shared }
  }

  it('accepts lines that add up to the state of the ledger', () => {
    const { own, shared } = sums()
    expect(checkLines(ownerOf(), own)).toEqual([])
    expect([...shared.buckets]).toEqual([[7, { spent: 3, credited: 0, isCounter: false }]])
  })

  it('accepts the lines of every balance operation', () => {
    const pack = { ...emptyOwner(1, 11), nextBucketId: 1 }
    let owner: OwnerState = pack
    const own = emptySums()
    const terms = (more: Partial<Bucket>) => bucketOf({ ...more, toMs: 9 })
    const into = { mode: 'transfer_in', amount: 0, counted: 0 } as const
    const include = { externalId: 1, kind: 'totalCost', usaget: '', priority: 1, unlimited: false }
    const money = { include: include as CreditedInclude, fromMs: 0, toMs: 9 }
    const operations: BalanceOperation[] = [
      { ...money, mode: 'inc', amount: 700, freeMax: 500 },
      { mode: 'heading' },
      { ...money, mode: 'set', amount: 120 },
      { ...into, terms: terms({}), amount: 30 },
      { ...into, terms: terms({ counter: 'credit', limit: 90, fromMs: 1 }), counted: 40 },
      { ...into, terms: terms({ counter: 'credit', limit: 90, fromMs: 1 }), counted: 55 },
      { mode: 'transfer_out', bucketId: 2 },
      { mode: 'close', bucketId: 1 },
    ]
    for (const done of operations) {
      const result = operate(owner, done, 1)
      owner = result.owner
      const { bucket, amount, before, after, repaid, counted } = result
      const line: OperationLine = {
        ...operation,
        version: owner.version,
        amount,
        before,
        after,
        repaid,
        bucketId: bucket?.id ?? 0,
        usaget: bucket?.usaget ?? '',
        ...(bucket?.counter ? { counter: bucket.counter, limit: bucket.limit, counted } : {}),
      }
      addLine(balanceLineDocument(line, ''), own, own)
      expect(texts(checkLines(owner, own))).toEqual([])
      expect(texts(checkConserved(owner))).toEqual([])
    }
    expect(owner.buckets.map(({ credited, spent }) => [credited, spent])).toEqual([
      [0, 0],
      [0, 0],
      [0, 55],
    ])
    expect(own.buckets.get(3)?.isCounter).toBe(true)
  })

  it('reports lines that do not add up', () => {
    expect(texts(checkLines(ownerOf({ spent: 61 }, { owed: 21 }), sums().own))).toEqual([
      'account 1, subscriber 11, bucket 1: spent, as its lines say: ' +
        '0.000061 GBP expected, 0.00006 GBP found',
      'account 1, subscriber 11: debt incurred, as its lines say: ' +
        '0.000021 GBP expected, 0.00002 GBP found',
    ])
    expect(texts(checkLines(ownerOf({ id: 2 }), sums().own))).toContain(
      'account 1, subscriber 11, bucket 1: spent by lines of a bucket that is not there: ' +
        'nothing expected, 60 found',
    )
  })

  it('expects no lines of a total of usage, from which nothing is paid', () => {
    const owner = ownerOf()
    const counted = { id: 2, credited: 0, spent: 70, reserved: 0, free: -70, limit: 2 ** 52 }
    const total = bucketOf({ ...counted, kind: 'units', counter: 'total/call/usagev' })
    expect(texts(checkLines({ ...owner, buckets: [...owner.buckets, total] }, sums().own))).toEqual(
      [],
    )
    expect(texts(checkConserved({ ...owner, buckets: [total] }))).toEqual([])
  })

  it('separates the debt of a subscriber from the debt of its account', () => {
    const [own, shared] = [emptySums(), emptySums()]
    addLine(lineDocument(withFields(line, { debt: 20, accountDebt: 15 })), own, shared)
    const { account_debt_micros: _, ...older } = lineDocument(withFields(line, { debt: 2 }))
    addLine(older as never, own, shared)
    expect([own.owed, shared.owed]).toEqual([7, 15])
  })

  it('requires the amounts of the ledger in the projection, and no newer version', () => {
    const owner = ownerOf()
    const document = balanceDocument(owner, bucketOf(), 'MONEY')
    const debt = balanceDocument(owner, debtBucket(owner), '')
    expect(checkProjection(owner, [document, debt])).toEqual([])
    expect(texts(checkProjection(owner, [debt, { ...document, v: 6, free: 1 }]))).toEqual([
      'account 1, subscriber 11, bucket 1: version in the projection: 5 expected, 6 found',
      'account 1, subscriber 11, bucket 1: free in the projection: ' +
        '0.00003 GBP expected, 0.000001 GBP found',
    ])
    // A bucket whose amounts have not changed keeps its older version.
    expect(checkProjection(owner, [debt, { ...document, v: 4 }])).toEqual([])
    expect(checkProjection(owner, [debt])).toHaveLength(6)
    expect(checkProjection(owner, [document])).toHaveLength(6)
    expect(checkProjection({ ...owner, buckets: [] }, [document, debt])).toHaveLength(1)
  })

  it('credits the amount of a refund that refers to no event', () => {
    const payments = [
      { ...payment(0, 4, -30), kind: 'creditedMoney' } as const,
      { ...payment(0, 5, -7), kind: 'creditedUnits' } as const,
      { ...payment(0, 6, -2), kind: 'money' } as const,
    ]
    const own = emptySums()
    addLine(lineDocument(withFields(line, { debt: -5, payments })), own, emptySums())
    expect(own.owed).toBe(-5)
    expect([...own.buckets]).toEqual([
      [4, { spent: 0, credited: 30, isCounter: false }],
      [5, { spent: 0, credited: 7, isCounter: false }],
      [6, { spent: -2, credited: 0, isCounter: false }],
    ])
  })

  it('reports no loss of a counter that the ledger has dropped with its cycle', () => {
    const counter = 'group/GOLD/0/CALLS'
    const limit = { ...payment(1, 7, 3), kind: 'limit', counter: 'credit' } as const
    const payments = [{ ...payment(0, 4, 30), kind: 'units', counter } as const, limit]
    const [own, shared] = [emptySums(), emptySums()]
    addLine(lineDocument(withFields(line, { debt: 0, payments })), own, shared)
    expect([...own.buckets, ...shared.buckets]).toEqual([
      [4, { spent: 30, credited: 0, isCounter: true }],
      [7, { spent: 3, credited: 0, isCounter: true }],
    ])
    const empty = ownerOf({}, { nextBucketId: 5, buckets: [], owed: 0, repaid: 0 })
    expect(checkLines(empty, own)).toEqual([])
    expect(checkLines({ ...empty, nextBucketId: 4 }, own)).toHaveLength(1)
    const dropped = bucketOf({ id: 4, counter, limit: 50 })
    const document = balanceDocument({ ...empty, version: 4 }, dropped, '')
    expect(checkProjection(empty, [document])).toEqual([])
    // A later version has dropped it, and only counters are dropped.
    expect(checkProjection(empty, [{ ...document, v: 5 }])).toHaveLength(1)
    expect(checkProjection(empty, [{ ...document, counter: '' }])).toHaveLength(1)
  })
})
