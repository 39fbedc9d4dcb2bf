import { describe, expect, it } from 'vitest'
import { balanceObjectId } from '../../../src/catalog/records/usage/balance-id.ts'
import { compareValues, compileMatcher } from '../../../src/prepaid/balances/matcher.ts'
import { EntityRuleError } from '../../../src/requests/errors.ts'

const id = balanceObjectId({ aid: 1, sid: 2, bucketId: 3 })
const other = balanceObjectId({ aid: 1, sid: 2, bucketId: 4 })
const DOCUMENT = {
  _id: id,
  aid: 1,
  name: 'GOLD',
  from: new Date(1000),
  shared: false,
  none: null,
  tags: ['a', 'b'],
  parts: [{ n: 1 }, { n: 2 }],
}
const matches = (filter: Record<string, unknown>) => compileMatcher(filter)(DOCUMENT)

describe('a document matches', () => {
  it.each([
    [{}],
    [{ aid: 1, name: 'GOLD' }],
    [{ _id: balanceObjectId({ aid: 1, sid: 2, bucketId: 3 }) }],
    [{ _id: { $gt: balanceObjectId({ aid: 1, sid: 2, bucketId: 2 }) } }],
    [{ aid: { $gt: 0, $lte: 1 } }],
    [{ from: { $gte: new Date(1000), $lt: new Date(1001) } }],
    [{ from: new Date(1000) }],
    [{ aid: { $in: [2, 1] } }],
    [{ aid: { $nin: [2, '1'] } }],
    [{ aid: { $ne: '1' } }],
    [{ missing: { $ne: 1 } }],
    [{ missing: null }],
    [{ none: null }],
    [{ none: { $exists: true }, missing: { $exists: false } }],
    [{ shared: { $eq: false } }],
    [{ name: { $regex: '^go', $options: 'i' } }],
    [{ name: /LD$/ }],
    [{ name: { $not: { $regex: 'x' } } }],
    [{ aid: { $not: { $gt: 1 } } }],
    [{ $or: [{ aid: 2 }, { $and: [{ aid: 1 }, { name: { $in: ['GOLD'] } }] }] }],
    [{ tags: 'a' }],
    [{ tags: ['a', 'b'] }],
    [{ tags: { $all: ['b', 'a'], $size: 2 } }],
    [{ tags: { $elemMatch: { $gt: 'a', $lt: 'c' } } }],
    [{ parts: { $elemMatch: { n: 2 } } }],
    [{ name: { $all: ['GOLD'] } }],
  ])('%o', (filter) => {
    expect(matches(filter)).toBe(true)
  })
})

describe('a document does not match', () => {
  it.each([
    [{ aid: '1' }],
    [{ aid: { $gt: '0' } }],
    [{ _id: other }],
    [{ missing: { $gt: 0 } }],
    [{ missing: { $in: [1] } }],
    [{ name: { $regex: 'gold' } }],
    [{ aid: { $regex: '1' } }],
    [{ name: { $size: 4 } }],
    [{ name: { $elemMatch: { $eq: 'GOLD' } } }],
    [{ tags: { $all: [] } }],
    [{ tags: { $all: ['a', 'c'] } }],
    [{ aid: { $in: [] } }],
    [{ $and: [{ aid: 1 }, { aid: 2 }] }],
    [{ $or: [{ aid: 3 }, { aid: 2 }] }],
  ])('%o', (filter) => {
    expect(matches(filter)).toBe(false)
  })
})

it.each([
  [{ aid: { $where: 'true' } }, 'query.aid.$where is not an operator'],
  [{ aid: { constructor: 1, $gt: 1 } }, null],
  [{ $where: 'true' }, 'query.$where is not an operator'],
  [{ $or: [] }, 'query.$or must be a list of filters'],
  [{ $and: [1] }, 'query.$and.0 must be a filter'],
  [{ aid: { $in: 1 } }, 'query.aid.$in must be a list'],
  [{ name: { $regex: '(' } }, 'query.name.$regex'],
  [{ name: { $regex: 5 } }, 'query.name.$regex must be a regular expression'],
  [{ name: { $regex: 'a', $options: 'g' } }, 'query.name.$regex has unknown flags'],
  [{ tags: { $elemMatch: 1 } }, 'query.tags.$elemMatch must be a filter'],
])('%o is refused with its path', (filter, text) => {
  if (text === null) {
    // Not an operator but a value, which equals nothing here.
    expect(matches(filter)).toBe(false)
    return
  }
  expect(() => compileMatcher(filter)).toThrow(EntityRuleError)
  expect(() => compileMatcher(filter)).toThrow(text)
})

it('values of all types sort as in MongoDB', () => {
  const sorted = [null, 1, 2, 'a', 'b', { n: 1 }, ['a'], id, other, false, true, new Date(1)]
  expect([...sorted].reverse().sort(compareValues)).toEqual(sorted)
})
