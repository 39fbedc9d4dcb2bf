/** What is given back of counters: included units and money that were used, and what is owed. */
import { describe, expect, it } from 'vitest'
import { balanceDocument } from '../../src/catalog/balance-document.ts'
import { lineDocument } from '../../src/catalog/line-document.ts'
import { AccountBooks } from '../../src/cli/rebuild/books.ts'
import { accountJson, accountLines } from '../../src/cli/rebuild/report.ts'
import type { Bucket, OwnerState } from '../../src/domain/bucket.ts'
import type { Payment } from '../../src/domain/session.ts'
import { bucketOf } from '../ledger/fixture.ts'
import { lineOf, NOW_MS } from '../recorder/accounts.ts'

const DAY_MS = 86_400_000
const COUNTER = 'group/GOLD/0/CALLS'

const group = (more: Partial<Bucket> = {}): Bucket => ({
  ...bucketOf(0, { kind: 'units', counter: COUNTER, limit: 100, toMs: NOW_MS + DAY_MS }),
  ...{ spent: 40, reserved: 10, free: -50 },
  ...more,
})

const owner = (sid: number, buckets: Bucket[]): OwnerState => ({
  ...{ aid: 1, sid, version: 5, nextBucketId: 9, owed: 0, repaid: 0, buckets },
})

const paid = (more: Partial<Payment>): Payment => ({
  ...{ owner: 0, bucketId: 1, prepaidIncludeId: 0, kind: 'units', amount: 1 },
  ...{ counter: COUNTER, left: 0, total: 0 },
  ...more,
})

function restored(states: readonly OwnerState[], payments: Payment[], usedMs = NOW_MS) {
  const books = new AccountBooks(1, { operationsMs: 0, countersMs: NOW_MS - 63 * DAY_MS })
  for (const state of states) {
    for (const bucket of state.buckets) books.addProjection(balanceDocument(state, bucket, ''))
  }
  const line = { ...lineOf(1, 1, 'a'), firstMs: usedMs, lastMs: usedMs, payments }
  books.addLine(lineDocument(line))
  const owners = books.restore()
  return { owners, account: { aid: 1, lines: 1, operations: 0, owners } }
}

describe('counters', () => {
  it('count again what was used; what was reserved is not', () => {
    const { owners, account } = restored([owner(1, [group()])], [paid({ amount: 45 })])
    expect(owners[0]?.state?.buckets).toEqual([group({ spent: 45, reserved: 0, free: -45 })])
    expect(owners[0]?.losses).toEqual([])
    expect(accountLines(account)).toEqual([
      'account 1: owners 1, buckets 0, counters 1, lines 1',
      '  subscriber 1, bucket 1: lines are ahead of its projection: credited 0, spent 5 more',
    ])
    expect(accountJson(account)).toMatchObject({
      ...{ buckets: 0, counters: 1, money: { free: 0 }, units: { free: 0 } },
      balances: [{ counter: COUNTER, spent: 45, free: -45 }],
    })
  })

  it('of an account count what limits say, beside what was paid', () => {
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

  it('that nothing counts in any more stay away', () => {
    const old = group({ toMs: NOW_MS - 64 * DAY_MS, reserved: 0, free: -40 })
    const current = group({ id: 2, reserved: 0, free: -40 })
    const { owners } = restored([owner(1, [old, current])], [paid({ amount: 40 })])
    expect(owners[0]).toMatchObject({ state: { buckets: [current] }, losses: [] })
  })

  it('of which only lines tell begin anew, and that is a loss unless it is long ago', () => {
    const { owners } = restored([], [paid({ amount: 40 })])
    expect(owners[0]).toMatchObject({ state: null, losses: [{ bucket: 1, amount: 40 }] })
    expect(owners[0]?.losses[0]?.what).toBe(
      'a counter whose period is not on record begins anew; so much was spent of it',
    )
    const before = restored([], [paid({ amount: 40 })], NOW_MS - 64 * DAY_MS)
    expect(before.owners[0]?.losses).toEqual([])
  })
})
