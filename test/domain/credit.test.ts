import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assertConserved, debtOf } from '../../src/domain/bucket.ts'
import type { PrepaidInclude } from '../../src/domain/catalogue.ts'
import { type Credit, credit, InsufficientBalanceError } from '../../src/domain/credit.ts'
import { bucketOf, moneyOf, ownerOf } from './owners.ts'
import { propertyRuns } from './property-runs.ts'
import { readTable } from './table.ts'

const PACK: PrepaidInclude = {
  id: 'pack',
  fromMs: 0,
  toMs: 1000,
  externalId: 1,
  name: 'PACK',
  kind: 'units',
  usaget: 'data',
  priority: 5,
  shared: false,
  unlimited: false,
  allowedIn: null,
  moreUsagets: [],
}
const MONEY: PrepaidInclude = { ...PACK, id: 'money', externalId: 2, kind: 'totalCost', usaget: '' }

function creditOf(amount: number, more: Partial<Credit> = {}): Credit {
  return { include: PACK, amount, fromMs: 10, toMs: 500, mode: 'inc', ...more }
}

describe('crediting a bucket', () => {
  it('adds to the one that is valid now, and prolongs it', () => {
    const owner = ownerOf([bucketOf({ credited: 100, spent: 60, free: 40, toMs: 300 })])
    const result = credit(owner, creditOf(25), 20)
    expect(result.bucket).toMatchObject({ id: 1, credited: 125, spent: 60, free: 65, toMs: 500 })
    expect(result).toMatchObject({ before: 40, after: 65, repaid: 0 })
    expect(result.owner.version).toBe(owner.version + 1)
  })

  it('leaves the given state as it was', () => {
    const owner = ownerOf([bucketOf()])
    const before = structuredClone(owner)
    credit(owner, creditOf(25), 20)
    expect(owner).toEqual(before)
  })

  it('never shortens a validity', () => {
    const owner = ownerOf([bucketOf({ toMs: 900 })])
    expect(credit(owner, creditOf(25), 20).bucket.toMs).toBe(900)
  })

  it('opens a bucket as its definition says, with the next id', () => {
    const result = credit(ownerOf([], { nextBucketId: 7 }), creditOf(25), 20)
    expect(result.bucket).toEqual({
      ...{ id: 7, prepaidIncludeId: 1, kind: 'units', usaget: 'data', priority: 5 },
      ...{
        fromMs: 10,
        toMs: 500,
        credited: 25,
        spent: 0,
        reserved: 0,
        counter: '',
        free: 25,
        limit: 0,
      },
    })
    expect(result.owner.nextBucketId).toBe(8)
    expect(result.owner.buckets).toEqual([result.bucket])
  })

  it.each([
    ['asked to', bucketOf(), { mode: 'new' as const }],
    ['the old one has ended', bucketOf({ toMs: 20 }), {}],
    ['the old one has not begun', bucketOf({ fromMs: 21 }), {}],
    ['the old one is of another definition', bucketOf({ prepaidIncludeId: 3 }), {}],
    ['the definition has changed from money to units', moneyOf(5, { prepaidIncludeId: 1 }), {}],
    ['the definition has changed its usage type', bucketOf({ usaget: 'call' }), {}],
  ])('opens a new one if %s', (_why, known, more) => {
    const result = credit(ownerOf([known]), creditOf(25, more), 20)
    expect(result.bucket.id).toBe(2)
    expect(result.owner.buckets[0]).toEqual(known)
  })

  it('takes away down to nothing free, without touching the validity', () => {
    const owner = ownerOf([bucketOf({ credited: 100, reserved: 60, free: 40, toMs: 300 })])
    const { bucket } = credit(owner, creditOf(-40), 20)
    expect(bucket).toMatchObject({ credited: 60, reserved: 60, free: 0, toMs: 300 })
  })

  it.each([
    ['what is reserved', ownerOf([bucketOf({ credited: 100, reserved: 60, free: 40 })]), -41],
    ['from a bucket that does not exist', ownerOf([]), -1],
  ])('never takes %s', (_what, owner, amount) => {
    const error = expect(() => credit(owner, creditOf(amount), 20))
    error.toThrow(InsufficientBalanceError)
    error.toThrow(`less than ${-amount}`)
  })
})

/** Money of a subscriber who owes: free before, debt before, amount; free, debt, repaid after. */
const DEBTS = readTable(`
  | case                    | free | debt | limit | amount | free after | debt after | repaid |
  |-------------------------|------|------|-------|--------|------------|------------|--------|
  | no debt                 | 10   | 0    | 0     | 5      | 15         | 0          | 0      |
  | debt is paid first      | 0    | 3    | 0     | 5      | 2          | 0          | 3      |
  | a part of the debt      | 0    | 8    | 0     | 5      | 0          | 3          | 5      |
  | exactly                 | 0    | 5    | 0     | 5      | 0          | 0          | 5      |
  | only by the top-up      | 10   | 8    | 0     | 5      | 10         | 3          | 5      |
  | from below zero         | -4   | 8    | 9     | 5      | 0          | 7          | 1      |
  | still below zero        | -7   | 8    | 9     | 5      | -2         | 8          | 0      |
  | an adjustment downwards | 10   | 8    | 0     | -5     | 5          | 8          | 0      |
  | nothing                 | 10   | 8    | 0     | 0      | 10         | 8          | 0      |
`)

describe('debt', () => {
  it.each(DEBTS)('$case: $amount onto $free with debt $debt', (row) => {
    const number = (name: string) => Number(row[name])
    const free = number('free')
    const money = moneyOf(100, {
      ...{ prepaidIncludeId: 2, spent: 100 - free, free, limit: number('limit') },
    })
    const owner = ownerOf([money], { owed: number('debt') + 2, repaid: 2 })
    const result = credit(owner, creditOf(number('amount'), { include: MONEY }), 20)
    expect(result.after).toBe(number('free after'))
    expect(debtOf(result.owner)).toBe(number('debt after'))
    expect(result.repaid).toBe(number('repaid'))
    assertConserved(result.owner)
  })

  it('is not paid with units', () => {
    const result = credit(ownerOf([], { owed: 50 }), creditOf(25), 20)
    expect([result.after, result.repaid]).toEqual([25, 0])
  })
})

describe('any series of operations', () => {
  it('conserves, never repays more than is owed, and never takes what is not free', () => {
    const operation = fc.record({
      amount: fc.integer({ min: -50, max: 50 }),
      money: fc.boolean(),
      mode: fc.constantFrom('inc' as const, 'inc' as const, 'new' as const),
      at: fc.integer({ min: 0, max: 600 }),
    })
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 12 }), fc.nat({ max: 60 }), (drawn, owed) => {
        let owner = ownerOf([], { owed })
        let credited = 0
        for (const { amount, money, mode, at } of drawn) {
          const include = money ? MONEY : PACK
          try {
            const more = { include, mode, fromMs: at, toMs: at + 100 }
            const result = credit(owner, creditOf(amount, more), at)
            expect(result.after - result.before).toBe(amount - result.repaid)
            owner = result.owner
            credited += amount
          } catch (error) {
            expect(error).toBeInstanceOf(InsufficientBalanceError)
            expect(amount).toBeLessThan(0)
          }
          assertConserved(owner)
          expect(owner.buckets.every(({ free }) => free >= 0)).toBe(true)
          expect(owner.buckets.reduce((sum, bucket) => sum + bucket.credited, 0)).toBe(credited)
        }
      }),
      propertyRuns(300),
    )
  })
})
