/** Prices of units, in exact fractions and from the rules: tier by tier, rounded once. */
import type { PricingMethod } from '../../../src/domain/pricing/models.ts'
import {
  add,
  downward,
  type Fraction,
  fraction,
  isLess,
  nearestEven,
  times,
  upward,
} from './fraction.ts'

export interface ModelTier {
  /** Null if there is no end. */
  units: bigint | null
  interval: bigint
  /** Micros for one interval. */
  price: Fraction
  ceil: boolean
}

export interface ModelTariff {
  tiers: ModelTier[]
  access: Fraction
  method?: PricingMethod
  /** Tiers count in this fraction of a unit. */
  partsPerUnit?: bigint
  factor?: Fraction
  minimum?: Fraction
  rounding?: { mode: 'up' | 'down' | 'nearest'; step: bigint }
}

/** Micros for the first units from zero, rounded once. */
export function priceOf(tariff: ModelTariff, units: bigint, withAccess: boolean): bigint {
  if (units === 0n) return 0n
  const { method = 'tiered', partsPerUnit = 1n, factor = fraction(1), minimum, rounding } = tariff
  const parts = units * partsPerUnit
  let sum = MODELS[method](tariff.tiers, parts)
  if (withAccess) sum = add(sum, tariff.access)
  sum = times(sum, factor)
  if (withAccess && minimum && isLess(sum, minimum)) sum = minimum
  if (!rounding) return nearestEven(sum)
  const steps = times(sum, fraction(1, rounding.step))
  if (rounding.mode === 'up') return upward(steps) * rounding.step
  if (rounding.mode === 'down') return downward(steps) * rounding.step
  return downward(add(steps, fraction(1, 2))) * rounding.step
}

type ModelPrice = (tiers: readonly ModelTier[], units: bigint) => Fraction

const MODELS: Readonly<Record<PricingMethod, ModelPrice>> = {
  tiered: tieredPrice,
  volume: volumePrice,
  package: packagePrice,
  graduated_flat: flatPrice,
}

function tieredPrice(tiers: readonly ModelTier[], units: bigint): Fraction {
  let sum = fraction(0)
  let begin = 0n
  for (const tier of tiers) {
    const end = tier.units === null ? units : begin + tier.units
    const inTier = (units < end ? units : end) - begin
    if (inTier <= 0n) break
    sum = add(sum, tierPrice(tier, inTier))
    begin = end
  }
  return sum
}

function volumePrice(tiers: readonly ModelTier[], units: bigint): Fraction {
  return tierPrice(tierReached(tiers, units), units)
}

function flatPrice(tiers: readonly ModelTier[], units: bigint): Fraction {
  return units === 0n ? fraction(0) : tierReached(tiers, units).price
}

/** The tier of the last unit; the last tier beyond all of them. */
function tierReached(tiers: readonly ModelTier[], units: bigint): ModelTier {
  let end = 0n
  for (const tier of tiers) {
    if (tier.units === null || units <= end + tier.units) return tier
    end += tier.units
  }
  return tiers.at(-1)!
}

/** Block by block. */
function packagePrice(tiers: readonly ModelTier[], units: bigint): Fraction {
  let sum = fraction(0)
  for (let begin = 0n; begin < units; ) {
    const tier = tierAt(tiers, begin)
    if (tier === null) return sum
    sum = add(sum, tier.price)
    begin += tier.interval
  }
  return sum
}

/** The tier of the unit that begins at a position; null beyond the last one. */
function tierAt(tiers: readonly ModelTier[], position: bigint): ModelTier | null {
  let end = 0n
  for (const tier of tiers) {
    if (tier.units === null || position < end + tier.units) return tier
    end += tier.units
  }
  return null
}

function tierPrice({ interval, price, ceil }: ModelTier, units: bigint): Fraction {
  const sold = fraction(units, interval)
  return times(ceil ? fraction(upward(sold)) : sold, price)
}
