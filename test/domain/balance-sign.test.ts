import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { flipCreditSign } from '../../src/domain/balance-sign.ts'

describe('flipCreditSign', () => {
  it.each([
    [12.5, -12.5],
    [-3, 3],
    [1_073_741_824, -1_073_741_824],
  ])('shows credit of %s as %s', (credit, shown) => {
    expect(flipCreditSign(credit)).toBe(shown)
  })

  it('has no negative zero', () => {
    expect(Object.is(flipCreditSign(0), 0)).toBe(true)
  })

  it('is its own inverse', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (amount) => {
        expect(flipCreditSign(flipCreditSign(amount))).toBe(amount)
      }),
    )
  })
})
