import { expect, it } from 'vitest'
import { createFreeNumbers } from '../../../src/rating/match/free-numbers.ts'

it('free numbers are exact, or begin with the digits before a *', () => {
  const isFree = createFreeNumbers(['112', '0800*'])
  const numbers = ['112', '1123', '11', '0800', '08001', '080', '']
  expect(numbers.filter(isFree)).toEqual(['112', '0800', '08001'])
  expect(createFreeNumbers([])('112')).toBe(false)
})
