import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  balanceIdOf,
  balanceObjectId,
  isHashedBalanceId,
  parseBalanceId,
} from '../../../../src/catalog/records/usage/balance-id.ts'

it('the id of a balance identifies its location', () => {
  const owner = fc.nat({ max: 2 ** 40 - 1 })
  const place = fc.record({ aid: owner, sid: owner, bucketId: fc.nat({ max: 2 ** 15 - 1 }) })
  fc.assert(
    fc.property(place, (one) => {
      const id = balanceIdOf(one)
      expect(id).toMatch(/^[0-7][0-9a-f]{23}$/)
      expect(parseBalanceId(id.toUpperCase())).toEqual(one)
      expect(balanceObjectId(one).toHexString()).toBe(id)
    }),
  )
})

it.each([
  { aid: 2 ** 40, sid: 1, bucketId: 1 },
  { aid: 1, sid: 2 ** 52, bucketId: 1 },
  { aid: 1, sid: 1, bucketId: 2 ** 15 },
])('the balance id of %o contains a hash', (place) => {
  const id = balanceIdOf(place)
  expect(id).toMatch(/^[89a-f][0-9a-f]{23}$/)
  expect(parseBalanceId(id)).toBeNull()
  expect(isHashedBalanceId(id)).toBe(true)
  expect(balanceIdOf({ ...place })).toBe(id)
})

it.each(['', 'abc', `${'0'.repeat(23)}g`, '0'.repeat(25)])('%j is not a balance id', (text) => {
  expect(parseBalanceId(text)).toBeNull()
  expect(isHashedBalanceId(text)).toBe(false)
})
