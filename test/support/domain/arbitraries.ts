/** Arbitraries of the property tests: small numbers, so that every boundary is hit often. */
import fc from 'fast-check'
import { PRICING_METHODS } from '../../../src/domain/pricing/models.ts'
import { UNLIMITED } from '../../../src/domain/pricing/tier.ts'
import type { Tariff, TariffTerms } from '../../../src/domain/tariff.ts'
import { fraction } from './fraction.ts'
import type { ModelTariff } from './model-price.ts'

/** Units per tier, interval, price: ranges of the numbers. */
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

/** Prices of any model, of parts of a unit, at a percentage, with a minimum, or rounded. */
export function tariffWithTerms(sizes: TariffSizes): fc.Arbitrary<Tariff> {
  const mode = fc.constantFrom('up' as const, 'down' as const, 'nearest' as const)
  const terms: fc.Arbitrary<TariffTerms> = fc.record({
    method: fc.constantFrom(...PRICING_METHODS),
    unitScale: fc.constantFrom(1, 1, 10),
    factor: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 2500 })),
    factorDigits: fc.constantFrom(0, 3),
    minimum: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: sizes.priceMax * 3 })),
    rounding: fc.option(fc.record({ mode, step: fc.constantFrom(10, 100) })),
  })
  return fc.tuple(tariffOf(sizes), terms).map(([tariff, drawn]) => ({ ...tariff, terms: drawn }))
}

/** The same tariff in the form of the model. */
export function modelTariff({ tiers, access, extraDigits, terms }: Tariff): ModelTariff {
  const scale = 10n ** BigInt(extraDigits)
  const more = terms === null ? {} : modelTerms(terms, scale)
  return {
    ...more,
    tiers: tiers.map(({ units, interval, price, ceil }) => ({
      units: units === UNLIMITED ? null : BigInt(units),
      interval: BigInt(interval),
      price: fraction(BigInt(price), scale),
      ceil,
    })),
    access: fraction(BigInt(access), scale),
  }
}

function modelTerms(terms: TariffTerms, scale: bigint): Partial<ModelTariff> {
  const { method, unitScale, factor, factorDigits, minimum, rounding } = terms
  return {
    method,
    partsPerUnit: BigInt(unitScale),
    factor: fraction(factor, 10n ** BigInt(factorDigits)),
    minimum: fraction(minimum, scale),
    ...(rounding && { rounding: { mode: rounding.mode, step: BigInt(rounding.step) } }),
  }
}
