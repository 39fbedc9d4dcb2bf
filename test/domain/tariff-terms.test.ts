import { describe, expect, it } from 'vitest'
import { UNLIMITED } from '../../src/domain/pricing/tier.ts'
import { charge, type Tariff } from '../../src/domain/tariff.ts'
import {
  PLAIN_TERMS,
  priceRounding,
  scaledTariff,
  withRateTerms,
} from '../../src/domain/tariff-terms.ts'

/** 0.10 per unit for the first 10, then 0.05; access 1. */
const TARIFF: Tariff = {
  tiers: [
    { units: 10, interval: 1, price: 100_000, ceil: true },
    { units: UNLIMITED, interval: 1, price: 50_000, ceil: true },
  ],
  access: 1_000_000,
  extraDigits: 0,
  terms: null,
}

describe('a part of a price', () => {
  it('has tiers and access, and is exact', () => {
    const third = scaledTariff(TARIFF, 333_333, 6)
    expect(charge(third, 12, true)).toBe(699_999)
    expect(charge(third, 12, false)).toBe(366_666)
  })

  it('of another part is their product', () => {
    const quarter = scaledTariff(scaledTariff(TARIFF, 5, 1), 50, 2)
    expect(charge(quarter, 12, true)).toBe(charge(TARIFF, 12, true) / 4)
  })

  it('that is the whole price is the plain price', () => {
    expect(scaledTariff(TARIFF, 100, 2)).toEqual(TARIFF)
    expect(scaledTariff(scaledTariff(TARIFF, 5, 1), 2, 0).terms).toBeNull()
  })

  it('keeps the other terms', () => {
    const terms = { ...PLAIN_TERMS, minimum: 3_000_000, method: 'volume' } as const
    expect(scaledTariff({ ...TARIFF, terms }, 5, 1).terms).toEqual({
      ...terms,
      factor: 5,
      factorDigits: 1,
    })
  })

  it('refuses a product that is not a safe integer', () => {
    const huge = scaledTariff(TARIFF, 10 ** 12, 6)
    expect(() => scaledTariff(huge, 10 ** 12, 6)).toThrow(RangeError)
  })
})

describe('the rules of a rate', () => {
  it('apply to a price that replaces its own', () => {
    const rounding = { mode: 'up', decimals: 1, stage: 'before_tax' } as const
    const ruled = withRateTerms(TARIFF, { method: 'volume', rounding })
    expect(charge(ruled, 11, false)).toBe(600_000)
    expect(withRateTerms(ruled, { method: 'tiered', rounding: null })).toEqual(TARIFF)
  })

  it.each([
    ['before_tax', 2, { mode: 'down', step: 10_000 }],
    ['before_tax', 0, { mode: 'down', step: 1_000_000 }],
    ['before_tax', 6, { mode: 'down', step: 1 }],
    ['after_tax', 2, null],
  ] as const)('%s to %i decimals', (stage, decimals, expected) => {
    expect(priceRounding({ mode: 'down', stage, decimals })).toEqual(expected)
  })
})
