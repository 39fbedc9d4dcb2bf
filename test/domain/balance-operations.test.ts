import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BucketReservedError, operate } from '../../src/domain/balance-operations.ts'
import { assertConserved, type Bucket, debtOf, type OwnerState } from '../../src/domain/bucket.ts'
import {
  type BucketTerms,
  isClosed,
  NotCreditError,
  UnknownBucketError,
} from '../../src/domain/credit.ts'
import { bucketOf, moneyOf, ownerOf } from '../support/domain/owners.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'

const close = { mode: 'close', bucketId: 1 } as const
const out = { mode: 'transfer_out', bucketId: 1 } as const
const counter = (more: Partial<Bucket> = {}) =>
  bucketOf({
    prepaidIncludeId: 0,
    usaget: '',
    counter: 'group/GOLD/0/CALLS',
    limit: 100,
    credited: 0,
    spent: 40,
    reserved: 10,
    free: -50,
    ...more,
  })
const into = (bucket: Bucket, amount: number, counted = 0) =>
  ({ mode: 'transfer_in', terms: bucket as BucketTerms, amount, counted }) as const

describe('closing a bucket', () => {
  it('removes the available units and ends the bucket permanently', () => {
    const owner = ownerOf([bucketOf({ credited: 100, spent: 60, free: 40, fromMs: 5, toMs: 300 })])
    const result = operate(owner, close, 20)
    expect(result).toMatchObject({ amount: -40, before: 40, after: 0, repaid: 0 })
    expect(result.bucket).toMatchObject({ credited: 60, spent: 60, free: 0, fromMs: 5, toMs: 5 })
    expect(isClosed(result.bucket as Bucket)).toBe(true)
    expect(result.owner.version).toBe(owner.version + 1)
    expect(() => operate(result.owner, close, 20)).toThrow(UnknownBucketError)
  })

  it.each([
    [
      'sessions hold a part of it',
      bucketOf({ credited: 9, reserved: 1, free: 8 }),
      'sessions hold 1',
    ],
    ['it counts usage', counter(), 'counts usage'],
    ['it is another', bucketOf({ id: 2 }), 'there is no bucket 1'],
  ])('is refused if %s', (_why, bucket, text) => {
    const errors = [BucketReservedError, NotCreditError, UnknownBucketError]
    const refused = () => operate(ownerOf([bucket]), close, 20)
    expect(refused).toThrow(text)
    expect(errors.some((kind) => refusalOf(refused) instanceof kind)).toBe(true)
  })
})

function refusalOf(attempt: () => unknown): unknown {
  try {
    return attempt()
  } catch (error) {
    return error
  }
}

describe('transferring a bucket to another account', () => {
  it('removes the available units and leaves reserved units and validity unchanged', () => {
    const owner = ownerOf([bucketOf({ credited: 100, spent: 30, reserved: 50, free: 20 })])
    const { bucket, amount } = operate(owner, out, 20)
    expect(amount).toBe(-20)
    expect(bucket).toMatchObject({ credited: 80, spent: 30, reserved: 50, free: 0 })
    expect(bucket?.toMs).toBe(owner.buckets[0]?.toMs)
  })

  it('moves nothing if nothing is available', () => {
    const { amount, owner } = operate(
      ownerOf([bucketOf({ credited: 5, reserved: 5, free: 0 })]),
      out,
      9,
    )
    expect(Object.is(amount, 0)).toBe(true)
    assertConserved(owner)
  })

  it('opens a bucket with the same terms there', () => {
    const from = bucketOf({ credited: 100, spent: 30, free: 70, priority: 8, fromMs: 3, toMs: 77 })
    const { bucket, owner } = operate(ownerOf([], { nextBucketId: 4 }), into(from, 70), 20)
    expect(bucket).toEqual({ ...from, id: 4, credited: 70, spent: 0, free: 70 })
    expect(owner.nextBucketId).toBe(5)
  })

  it('pays debt there with money', () => {
    const owner = ownerOf([], { owed: 15 })
    const result = operate(owner, into(moneyOf(70), 70), 20)
    expect(result).toMatchObject({ amount: 70, repaid: 15, after: 55 })
    expect(debtOf(result.owner)).toBe(0)
    assertConserved(result.owner)
    expect(operate(owner, into(bucketOf(), 70), 20).repaid).toBe(0)
  })

  it('adds the used units of a counter to an existing one', () => {
    const { bucket, counted, amount } = operate(ownerOf([]), into(counter(), 0, 40), 20)
    expect([counted, amount]).toEqual([40, 0])
    expect(bucket).toMatchObject({ credited: 0, spent: 40, reserved: 0, free: -40, limit: 100 })
    const back = ownerOf([counter({ spent: 25, reserved: 0, free: -25 })])
    const again = operate(back, into(counter(), 0, 40), 20)
    expect(again).toMatchObject({ counted: 15, before: -25, after: -40 })
    expect(again.owner.buckets).toHaveLength(1)
    expect(operate(back, into(counter(), 0, 20), 20)).toMatchObject({ counted: 0, after: -25 })
  })

  it('neither loses nor creates units', () => {
    const amounts = fc.record({ spent: fc.nat(50), reserved: fc.nat(50), free: fc.nat(50) })
    fc.assert(
      fc.property(fc.array(amounts, { maxLength: 6 }), fc.nat(60), (drawn, owed) => {
        const buckets = drawn.map((one, index) =>
          moneyOf(one.spent + one.reserved + one.free, { ...one, id: index + 1 }),
        )
        let from: OwnerState = ownerOf(buckets)
        let to: OwnerState = ownerOf([], { owed })
        for (const bucket of buckets) {
          const left = operate(from, { mode: 'transfer_out', bucketId: bucket.id }, 20)
          const arrived = operate(to, into(bucket, 0 - left.amount), 20)
          from = left.owner
          to = arrived.owner
        }
        assertConserved(from)
        assertConserved(to)
        const sum = (owner: OwnerState) => owner.buckets.reduce((all, { free }) => all + free, 0)
        const free = drawn.reduce((all, one) => all + one.free, 0)
        expect(sum(from)).toBe(0)
        expect(sum(to) + to.repaid).toBe(free)
      }),
      propertyRuns(200),
    )
  })
})

it('a heading has a version of its own and moves nothing', () => {
  const owner = ownerOf([bucketOf()])
  const result = operate(owner, { mode: 'heading' }, 20)
  expect(result).toMatchObject({ bucket: null, amount: 0, before: 0, after: 0 })
  expect(result.owner).toEqual({ ...owner, version: owner.version + 1 })
})
