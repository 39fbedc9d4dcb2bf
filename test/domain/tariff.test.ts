import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { microsFrom } from '../../src/domain/money.ts'
import { type Tier, UNLIMITED } from '../../src/domain/pricing/tier.ts'
import {
  affordable,
  charge,
  isFree,
  PriceRangeError,
  peakCharge,
  type Tariff,
} from '../../src/domain/tariff.ts'
import { modelTariff, SMALL, tariffOf, tariffWithTerms } from '../support/domain/arbitraries.ts'
import { priceOf } from '../support/domain/model-price.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { readTable } from '../support/domain/table.ts'
import { tariffFrom as flatFrom } from '../support/domain/tariffs.ts'

/** Tenths of a unit count as units, so that bounds such as 0.7 are whole numbers. */
const TENTHS = 10

function tenths(text: string): number {
  return text === '∞' ? UNLIMITED : Math.round(Number(text) * TENTHS)
}

/** `0–10 1/1` is the tier from 0 to 10 at 1 per interval of 1; `~` before it: in proportion. */
function tierOf(text: string): Tier {
  const [bounds = '', price = ''] = text.replace('~', '').trim().split(' ')
  const [from = '', to = ''] = bounds.split('–')
  const [amount = '', interval = ''] = price.split('/')
  return {
    units: to === '∞' ? UNLIMITED : tenths(to) - tenths(from),
    interval: tenths(interval),
    price: microsFrom(amount)!,
    ceil: !text.trim().startsWith('~'),
  }
}

function tariffFrom(tiers: string, access: string): Tariff {
  const parts = tiers.split(';').map(tierOf)
  return { tiers: parts, access: microsFrom(access)!, extraDigits: 0, terms: null }
}

/** The cases published by the best-known public implementation, and further ones. */
const CHARGES = readTable(`
  | case          | tiers                                       | access | volume | charge   |
  |---------------|---------------------------------------------|--------|--------|----------|
  | published 1   | 0–10 1/1; 0–1 100/1                         | 1000   | 10     | 1010     |
  | published 3   | 0–1 0.5/1; 1–4 0.5/1                        | 0      | 10     | 2        |
  | published 5   | 0–0.8 1/0.5                                 | 0      | 5      | 2        |
  | published 7   | 0–5 2/4.2; 0–2.4 1/0.8                      | 0      | 5      | 4        |
  | published 9   | 0.7–2 1/0.1                                 | 0      | 2      | 13       |
  | published 11  | 0–0.8 0.5/0.2; 1–3.5 0.2/0.5; 4.1–7.6 1/0.1 | 0      | 10     | 38       |
  | published 13  | 0–4 0.1/0.1; 0–6 0.8/1.1                    | 0      | 6      | 5.6      |
  | begun minute  | 0–∞ 1/60                                    | 0      | 61     | 2        |
  | whole minute  | 0–∞ 1/60                                    | 0      | 60     | 1        |
  | in proportion | ~ 0–∞ 1/60                                  | 0      | 90     | 1.5      |
  | no repeating  | ~ 0–∞ 1/60                                  | 0      | 1      | 0.016667 |
  | tie to even   | ~ 0–∞ 0.000001/2                            | 0      | 1      | 0        |
  | tie to even   | ~ 0–∞ 0.000001/2                            | 0      | 3      | 0.000002 |
  | one rounding  | ~ 0–1 0.000001/2; ~ 1–2 0.000001/2          | 0      | 2      | 0.000001 |
  | access alone  | 0–∞ 0/1                                     | 3      | 1      | 3        |
  | no usage      | 0–∞ 1/1                                     | 3      | 0      | 0        |
`)

describe('charge', () => {
  it.each(CHARGES)('$case: $volume units of $tiers cost $charge', (row) => {
    const tariff = tariffFrom(row['tiers']!, row['access']!)
    expect(charge(tariff, tenths(row['volume']!), true)).toBe(microsFrom(row['charge']!))
  })

  it('omits the access price if it was charged before', () => {
    const tariff = tariffFrom('0–∞ 1/1', '1000')
    expect(charge(tariff, 2 * TENTHS, false)).toBe(2_000_000)
  })

  it('is the exact price for any tariff', () => {
    fc.assert(
      fc.property(
        tariffOf({ unitsMax: 100_000, intervalMax: 5000, priceMax: 10_000_000 }),
        fc.nat({ max: 1_000_000 }),
        fc.boolean(),
        (tariff, units, access) => {
          const modelled = priceOf(modelTariff(tariff), BigInt(units), access)
          expect(charge(tariff, units, access)).toBe(Number(modelled))
        },
      ),
      propertyRuns(2000),
    )
  })

  it('is exact or refused up to the largest volumes and prices', () => {
    const size = fc.oneof(fc.maxSafeNat(), fc.integer({ min: 1, max: 1000 }))
    const tier = fc.record({
      units: size.filter((units) => units > 0),
      interval: size.filter((interval) => interval > 0),
      price: size,
      ceil: fc.boolean(),
    })
    const huge: fc.Arbitrary<Tariff> = fc.record({
      tiers: fc.array(tier, { minLength: 1, maxLength: 3 }),
      access: size,
      extraDigits: fc.integer({ min: 0, max: 6 }),
      terms: fc.constant(null),
    })
    fc.assert(
      fc.property(huge, fc.maxSafeNat(), (tariff, units) => {
        const modelled = priceOf(modelTariff(tariff), BigInt(units), true)
        if (modelled > BigInt(Number.MAX_SAFE_INTEGER)) {
          expect(() => charge(tariff, units, true)).toThrow(PriceRangeError)
        } else {
          expect(charge(tariff, units, true)).toBe(Number(modelled))
        }
      }),
      propertyRuns(3000),
    )
  })

  it('agrees for prices with terms: by volume, in parts, at a percentage, rounded', () => {
    fc.assert(
      fc.property(
        tariffWithTerms(SMALL),
        fc.nat({ max: 90 }),
        fc.boolean(),
        (tariff, units, access) => {
          const modelled = priceOf(modelTariff(tariff), BigInt(units), access)
          expect(charge(tariff, units, access)).toBe(Number(modelled))
        },
      ),
      propertyRuns(3000),
    )
  })

  it('finds the highest price up to a volume, which a volume price may have passed', () => {
    fc.assert(
      fc.property(
        tariffWithTerms(SMALL),
        fc.nat({ max: 40 }),
        fc.nat({ max: 60 }),
        (tariff, from, more) => {
          const prices = Array.from({ length: more }, (_, index) =>
            Number(priceOf(modelTariff(tariff), BigInt(from + index + 1), true)),
          )
          const peak = more === 0 ? charge(tariff, from, true) : Math.max(...prices)
          expect(peakCharge(tariff, from, from + more, true)).toBe(peak)
        },
      ),
      propertyRuns(1000),
    )
  })

  it('names the volume whose price is out of range', () => {
    const tariff = tariffFrom('0–∞ 9000000/0.1', '0')
    expect(() => charge(tariff, UNLIMITED, false)).toThrow(`price of ${UNLIMITED} units`)
  })
})

const PURCHASES = readTable(`
  | tiers              | access | priced | budget | cap  | affordable |
  |--------------------|--------|--------|--------|------|------------|
  | 0–∞ 0.1/1          | 0      | 0      | 2      | 60   | 20         |
  | 0–∞ 0.1/1          | 0      | 0      | 0.3    | 60   | 3          |
  | 0–∞ 1/60           | 0      | 0      | 10     | 1000 | 600        |
  | 0–∞ 1/60           | 0      | 0      | 2.5    | 1000 | 120        |
  | 0–∞ 1/60           | 0      | 61     | 0      | 1000 | 59         |
  | 0–∞ 1/60           | 0      | 60     | 0.9    | 1000 | 0          |
  | 0–∞ 0.1/1          | 1      | 0      | 3      | 60   | 20         |
  | 0–∞ 0.1/1          | 1      | 0      | 0.9    | 60   | 0          |
  | 0–10 0/1; 10–∞ 1/1 | 0      | 0      | 0      | 60   | 10         |
  | 0–10 1/1           | 0      | 10     | 0      | 60   | 60         |
  | 0–∞ 0.1/1          | 0      | 5      | 0.5    | 4    | 4          |
`)

describe('affordable', () => {
  it.each(PURCHASES)('buys $affordable more of $tiers after $priced with $budget', (row) => {
    const tariff = tariffFrom(row['tiers']!, row['access']!)
    const [chargedUnits, cap] = [tenths(row['priced']!), tenths(row['cap']!)]
    const charged = charge(tariff, chargedUnits, true)
    const bought = affordable(tariff, true, chargedUnits, charged, microsFrom(row['budget']!)!, cap)
    expect(bought).toBe(tenths(row['affordable']!))
  })

  it('buys as much as the budget pays for, and not one unit more', () => {
    fc.assert(
      fc.property(
        tariffOf(SMALL),
        fc.nat({ max: 50 }),
        fc.nat({ max: 300 }),
        fc.nat({ max: 80 }),
        fc.boolean(),
        (tariff, chargedUnits, budget, cap, access) => {
          const price = (units: number) =>
            Number(priceOf(modelTariff(tariff), BigInt(units), access))
          const charged = price(chargedUnits)
          const bought = affordable(tariff, access, chargedUnits, charged, budget, cap)
          expect(bought).toBeLessThanOrEqual(cap)
          expect(price(chargedUnits + bought) - charged).toBeLessThanOrEqual(budget)
          if (bought < cap)
            expect(price(chargedUnits + bought + 1) - charged).toBeGreaterThan(budget)
        },
      ),
      propertyRuns(1000),
    )
  })

  it('stops before a price out of range instead of failing', () => {
    const tariff = flatFrom(`${2 ** 40}/1`)
    expect(affordable(tariff, false, 0, 0, UNLIMITED, UNLIMITED)).toBe(2 ** 13 - 1)
  })
})

describe('isFree', () => {
  it.each([
    ['no price in any tier', '0–5 0/1; 5–∞ 0/1', '0', true],
    ['a price in the last tier', '0–5 0/1; 5–∞ 1/1', '0', false],
    ['an access price', '0–∞ 0/1', '1', false],
  ])('%s', (_name, tiers, access, free) => {
    expect(isFree(tariffFrom(tiers, access))).toBe(free)
  })
})
