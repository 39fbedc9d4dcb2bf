import { describe, expect, it } from 'vitest'
import { InvariantError } from '../../src/domain/assert.ts'
import {
  assertConserved,
  type Bucket,
  bucketOrder,
  copyOwner,
  debtOf,
  isUnchanged,
  type OwnerState,
  paysFor,
} from '../../src/domain/bucket.ts'
import { bucketOf, ownerOf } from '../support/domain/owners.ts'
import { readTable } from '../support/domain/table.ts'

/** Each row is a bucket; `place` is its position at instant 50 for data, or why it has none. */
const ORDER = readTable(`
  | name   | owner   | id | kind      | usaget | priority | from | to  | place |
  |--------|---------|----|-----------|--------|----------|------|-----|-------|
  | high   | own     | 9  | units     | data   | 5        | 0    | 900 | 1     |
  | shared | account | 8  | totalCost |        | 4        | 0    | 100 | 2     |
  | soon   | own     | 7  | cost      | data   | 3        | 0    | 100 | 3     |
  | low id | account | 2  | units     | data   | 3        | 0    | 200 | 4     |
  | own    | own     | 6  | units     | data   | 3        | 0    | 200 | 5     |
  | twin   | account | 6  | units     | data   | 3        | 0    | 200 | 6     |
  | begins | own     | 3  | totalCost |        | 1        | 50   | 300 | 7     |
  | other  | own     | 1  | units     | call   | 9        | 0    | 900 | none  |
  | money  | own     | 2  | cost      | call   | 9        | 0    | 900 | none  |
  | ended  | own     | 4  | units     | data   | 9        | 0    | 50  | none  |
  | later  | account | 5  | units     | data   | 9        | 51   | 900 | none  |
`)

function bucketFrom(row: Record<string, string>): Bucket {
  return bucketOf({
    id: Number(row['id']),
    kind: row['kind'] as Bucket['kind'],
    usaget: row['usaget']!,
    priority: Number(row['priority']),
    fromMs: Number(row['from']),
    toMs: Number(row['to']),
  })
}

/** A prepaid bucket as funding source. */
const payer = (owner: 0 | 1, id: number) => ({ owner, id, isGroup: false, limitCounter: null })

describe('the order of payment', () => {
  const of = (owner: string) => ORDER.filter((row) => row['owner'] === owner)
  const subscriber = ownerOf(of('own').map(bucketFrom))
  const account = ownerOf(of('account').map(bucketFrom), { sid: 0 })

  it('is priority, end, id, own before shared, among buckets valid for the usage', () => {
    const paying = ORDER.filter((row) => row['place'] !== 'none')
    paying.sort((a, b) => Number(a['place']) - Number(b['place']))
    expect(bucketOrder(subscriber, account, paysFor('data'), 50)).toEqual(
      paying.map((row) => payer(row['owner'] === 'own' ? 0 : 1, Number(row['id']))),
    )
  })

  it('includes buckets that have begun by a later clock, but not those that have ended', () => {
    const begun = bucketOrder(subscriber, account, paysFor('data'), 50, 51)
    expect(begun).toContainEqual(payer(1, 5))
    expect(begun).not.toContainEqual(payer(0, 4))
  })

  it('does not depend on the order of the stored buckets', () => {
    const reversed = (owner: OwnerState) => ({ ...owner, buckets: owner.buckets.toReversed() })
    expect(bucketOrder(reversed(subscriber), reversed(account), paysFor('data'), 50)).toEqual(
      bucketOrder(subscriber, account, paysFor('data'), 50),
    )
  })

  it('needs no account', () => {
    expect(bucketOrder(subscriber, null, paysFor('sms'), 50)).toEqual([payer(0, 3)])
  })
})

describe('conservation', () => {
  it('requires credited = spent + reserved + available, also below zero within a limit', () => {
    const sound = bucketOf({ credited: 100, spent: 60, reserved: 60, free: -20, limit: 20 })
    expect(() => assertConserved(ownerOf([sound]))).not.toThrow()
  })

  it.each([
    ['a unit is lost', { free: 99 }, {}],
    ['a part is negative', { spent: -1, free: 101 }, {}],
    ['more is reserved than exists', { reserved: -5, free: 105 }, {}],
    ['an amount is not exact', { credited: 2 ** 53, free: 2 ** 53 }, {}],
    ['more is repaid than was owed', {}, { owed: 3, repaid: 4 }],
    ['a repayment is negative', {}, { owed: 3, repaid: -1 }],
  ])('is an assertion if %s', (_what, bucket, owner) => {
    const damaged = ownerOf([bucketOf(bucket)], owner)
    expect(() => assertConserved(damaged)).toThrow(InvariantError)
  })
})

describe('owners', () => {
  it('owe the debt not yet repaid', () => {
    expect(debtOf(ownerOf([], { owed: 10, repaid: 4 }))).toBe(6)
  })

  it('are copied with their buckets', () => {
    const owner = ownerOf([bucketOf()])
    copyOwner(owner).buckets[0]!.free = 1
    expect(owner.buckets[0]!.free).toBe(100)
  })

  it.each([
    ['free', { free: 99 }, {}],
    ['reserved', { reserved: 1 }, {}],
    ['spent', { spent: 1 }, {}],
    ['credited', { credited: 101, free: 100 }, {}],
    ['debt', {}, { owed: 1 }],
  ])('have changed if their %s has', (_what, bucket, more) => {
    const owner = ownerOf([bucketOf()])
    expect(isUnchanged(owner, copyOwner(owner))).toBe(true)
    expect(isUnchanged(owner, ownerOf([bucketOf(bucket)], more))).toBe(false)
    expect(isUnchanged(owner, ownerOf([bucketOf(), bucketOf({ id: 2 })]))).toBe(false)
  })
})
