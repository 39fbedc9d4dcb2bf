import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assertConserved, debtOf } from '../../src/domain/bucket.ts'
import type { PrepaidInclude } from '../../src/domain/catalogue.ts'
import {
  type Credit,
  credit,
  InsufficientBalanceError,
  NotCreditError,
  UnknownBucketError,
} from '../../src/domain/credit.ts'
import { bucketOf, moneyOf, ownerOf } from '../support/domain/owners.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { readTable } from '../support/domain/table.ts'

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
  it('adds to the one that is valid now and extends its validity', () => {
    const owner = ownerOf([bucketOf({ credited: 100, spent: 60, free: 40, toMs: 300 })])
    const result = credit(owner, creditOf(25), 20)
    expect(result.bucket).toMatchObject({ id: 1, credited: 125, spent: 60, free: 65, toMs: 500 })
    expect(result).toMatchObject({ before: 40, after: 65, repaid: 0 })
    expect(result.owner.version).toBe(owner.version + 1)
  })

  it('leaves the given state unchanged', () => {
    const owner = ownerOf([bucketOf()])
    const before = structuredClone(owner)
    credit(owner, creditOf(25), 20)
    expect(owner).toEqual(before)
  })

  it('never shortens a validity', () => {
    const owner = ownerOf([bucketOf({ toMs: 900 })])
    expect(credit(owner, creditOf(25), 20).bucket.toMs).toBe(900)
  })

  it('opens a bucket according to its definition, with the next id', () => {
    const result = credit(ownerOf([], { nextBucketId: 7 }), creditOf(25), 20)
    expect(result.bucket).toEqual({
      id: 7,
      prepaidIncludeId: 1,
      kind: 'units',
      usaget: 'data',
      priority: 5,
      fromMs: 10,
      toMs: 500,
      credited: 25,
      spent: 0,
      reserved: 0,
      counter: '',
      free: 25,
      limit: 0,
    })
    expect(result.owner.nextBucketId).toBe(8)
    expect(result.owner.buckets).toEqual([result.bucket])
  })

  it.each([
    ['requested', bucketOf(), { mode: 'new' as const }],
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

  it('removes at most the available amount and leaves the validity unchanged', () => {
    const owner = ownerOf([bucketOf({ credited: 100, reserved: 60, free: 40, toMs: 300 })])
    const { bucket } = credit(owner, creditOf(-40), 20)
    expect(bucket).toMatchObject({ credited: 60, reserved: 60, free: 0, toMs: 300 })
  })

  it.each([
    ['reserved units', ownerOf([bucketOf({ credited: 100, reserved: 60, free: 40 })]), -41],
    ['units of a bucket that does not exist', ownerOf([]), -1],
  ])('never removes %s', (_what, owner, amount) => {
    const error = expect(() => credit(owner, creditOf(amount), 20))
    error.toThrow(InsufficientBalanceError)
    error.toThrow(`less than ${-amount}`)
  })
})

/** Money of a subscriber in debt: free before, debt before, amount; free, debt, repaid after. */
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
      prepaidIncludeId: 2,
      spent: 100 - free,
      free,
      limit: number('limit'),
    })
    const owner = ownerOf([money], { owed: number('debt') + 2, repaid: 2 })
    const result = credit(owner, creditOf(number('amount'), { include: MONEY }), 20)
    expect(result.after).toBe(number('free after'))
    expect(debtOf(result.owner)).toBe(number('debt after'))
    expect(result.repaid).toBe(number('repaid'))
    assertConserved(result.owner)
  })

  it('is not repaid with units', () => {
    const result = credit(ownerOf([], { owed: 50 }), creditOf(25), 20)
    expect([result.after, result.repaid]).toEqual([25, 0])
  })
})

describe('setting a bucket', () => {
  it.each([
    ['up', 100, 60, 90],
    ['down', 100, 60, 10],
    ['to nothing', 100, 60, 0],
    ['to its present value', 100, 60, 40],
  ])('%s makes that amount available, whatever was spent', (_how, credited, spent, amount) => {
    const owner = ownerOf([bucketOf({ credited, spent, free: credited - spent, toMs: 300 })])
    const result = credit(owner, creditOf(amount, { mode: 'set' }), 20)
    expect(result).toMatchObject({ before: 40, after: amount, amount: amount - 40, repaid: 0 })
    expect(result.bucket).toMatchObject({ credited: spent + amount, spent, toMs: 500 })
    assertConserved(result.owner)
  })

  it('leaves reserved units and debt unchanged', () => {
    const money = moneyOf(30, { prepaidIncludeId: 2, reserved: 30, free: 0 })
    const owner = ownerOf([money], { owed: 7 })
    const result = credit(owner, creditOf(50, { mode: 'set', include: MONEY }), 20)
    expect(result.bucket).toMatchObject({ credited: 80, reserved: 30, free: 50 })
    expect(debtOf(result.owner)).toBe(7)
  })

  it('opens a bucket if none is valid, and never goes below zero', () => {
    expect(credit(ownerOf([]), creditOf(50, { mode: 'set' }), 20).bucket).toMatchObject({
      id: 1,
      credited: 50,
      free: 50,
    })
    expect(() => credit(ownerOf([]), creditOf(-1, { mode: 'set' }), 20)).toThrow(
      InsufficientBalanceError,
    )
  })
})

describe('a bucket selected by its id', () => {
  const owner = ownerOf([bucketOf({ id: 1 }), bucketOf({ id: 2, credited: 9, free: 9, toMs: 20 })])

  it('is credited although it has ended and another one is valid', () => {
    const { bucket } = credit(owner, creditOf(5, { bucketId: 2 }), 20)
    expect(bucket).toMatchObject({ id: 2, free: 14, toMs: 500 })
  })

  it.each([
    ['does not exist', ownerOf([]), UnknownBucketError],
    ['was closed', ownerOf([bucketOf({ fromMs: 5, toMs: 5 })]), UnknownBucketError],
    ['is a counter', ownerOf([bucketOf({ counter: 'credit', limit: 5 })]), NotCreditError],
  ])('is refused if it %s', (_why, state, error) => {
    expect(() => credit(state, creditOf(5, { bucketId: 1 }), 20)).toThrow(error)
  })
})

/**
 * Free and debt before, the most that may be free, the requested amount; free, amount, cut after.
 */
const CLAMPED = readTable(`
  | case                   | mode | free | debt | most | asked | free after | amount | cut |
  |------------------------|------|------|------|------|-------|------------|--------|-----|
  | below                  | inc  | 10   | 0    | 20   | 5     | 15         | 5      | 0   |
  | exactly                | inc  | 10   | 0    | 20   | 10    | 20         | 10     | 0   |
  | above                  | inc  | 10   | 0    | 20   | 15    | 20         | 10     | 5   |
  | above already          | inc  | 30   | 0    | 20   | 5     | 30         | 0      | 5   |
  | debt is paid all the same | inc | 30 | 3    | 20   | 5     | 30         | 3      | 2   |
  | a part pays debt       | inc  | 10   | 4    | 20   | 20    | 20         | 14     | 6   |
  | taking away            | inc  | 30   | 0    | 20   | -5    | 25         | -5     | 0   |
  | set above              | set  | 10   | 0    | 20   | 25    | 20         | 10     | 5   |
  | set from above         | set  | 30   | 0    | 20   | 25    | 20         | -10    | 5   |
  | another one            | new  | 10   | 0    | 20   | 25    | 20         | 20     | 5   |
`)

describe('a limit on the available amount', () => {
  it.each(CLAMPED)('$case: $mode $asked onto $free, at most $most', (row) => {
    const number = (name: string) => Number(row[name])
    const money = moneyOf(100, { prepaidIncludeId: 2, spent: 100 - number('free') })
    const owner = ownerOf([{ ...money, free: number('free') }], { owed: number('debt') })
    const mode = row['mode'] as Credit['mode']
    const more = { include: MONEY, mode, freeMax: number('most') }
    const result = credit(owner, creditOf(number('asked'), more), 20)
    expect(result).toMatchObject({
      after: number('free after'),
      amount: number('amount'),
      normalized: number('cut'),
    })
    assertConserved(result.owner)
  })

  it('does not apply to unlimited buckets', () => {
    const include = { ...MONEY, unlimited: true }
    const result = credit(ownerOf([]), creditOf(50, { include, freeMax: 20 }), 20)
    expect(result).toMatchObject({ after: 50, normalized: 0 })
  })
})

describe('any series of operations', () => {
  it('conserves units, repays no more than the debt, and removes only available units', () => {
    const operation = fc.record({
      amount: fc.integer({ min: -50, max: 50 }),
      money: fc.boolean(),
      mode: fc.constantFrom('inc' as const, 'inc' as const, 'new' as const, 'set' as const),
      freeMax: fc.option(fc.nat({ max: 80 }), { nil: undefined }),
      at: fc.integer({ min: 0, max: 600 }),
    })
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 12 }), fc.nat({ max: 60 }), (drawn, owed) => {
        let owner = ownerOf([], { owed })
        let credited = 0
        for (const { amount, money, mode, at, freeMax } of drawn) {
          const include = money ? MONEY : PACK
          try {
            const limit = freeMax === undefined ? {} : { freeMax }
            const more = { include, mode, fromMs: at, toMs: at + 100, ...limit }
            const result = credit(owner, creditOf(amount, more), at)
            expect(result.after - result.before).toBe(result.amount - result.repaid)
            const isMore = result.after > result.before
            if (isMore) expect(result.after).toBeLessThanOrEqual(freeMax ?? result.after)
            owner = result.owner
            credited += result.amount
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
