/** What the property tests draw from: small numbers, so that every boundary is hit often. */
import fc from 'fast-check'
import { type Tariff, UNLIMITED } from '../../src/domain/tariff.ts'
import { fraction } from './fraction.ts'
import type { ModelTariff } from './model.ts'

/** Units per tier, interval, price: sizes of the numbers drawn. */
export interface TariffSizes {
  unitsMax: number
  intervalMax: number
  priceMax: number
}

export const SMALL: TariffSizes = { unitsMax: 30, intervalMax: 12, priceMax: 40 }

export function tariffOf(sizes: TariffSizes): fc.Arbitrary<Tariff> {
  const { unitsMax, intervalMax, priceMax } = sizes
  const interval = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: intervalMax }))
  const price = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: priceMax }))
  const tier = fc.record({
    units: fc.integer({ min: 1, max: unitsMax }),
    interval,
    price,
    ceil: fc.boolean(),
  })
  return fc
    .record({
      tiers: fc.array(tier, { minLength: 1, maxLength: 4 }),
      endless: fc.boolean(),
      access: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: priceMax })),
      extraDigits: fc.constantFrom(0, 0, 1, 2, 6),
    })
    .map(({ tiers, endless, access, extraDigits }) => ({
      tiers: tiers.map((drawn, index) =>
        endless && index === tiers.length - 1 ? { ...drawn, units: UNLIMITED } : drawn,
      ),
      access,
      extraDigits,
      terms: null,
    }))
}

/** The same tariff as the judge reads it. */
export function modelTariff({ tiers, access, extraDigits }: Tariff): ModelTariff {
  const scale = 10n ** BigInt(extraDigits)
  return {
    tiers: tiers.map(({ units, interval, price, ceil }) => ({
      units: units === UNLIMITED ? null : BigInt(units),
      interval: BigInt(interval),
      price: fraction(BigInt(price), scale),
      ceil,
    })),
    access: fraction(BigInt(access), scale),
  }
}
