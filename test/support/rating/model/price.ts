/**
 * Prices of units. A step is the smallest unit of a case: 10^-k base units, where k is the highest
 * number of decimals of any volume, group value or unit bucket of the case. Tiers may be finer.
 */
import type { PricingMethod } from '../../../../src/domain/pricing/models.ts'
import { type Fraction, fraction, upward } from '../../domain/fraction.ts'
import type { OverrideDocument, PriceDocument, RateDocument, TierDocument } from './case.ts'
import { exact, larger, leastOf, microsOf, product, roundedTo, sum, ZERO } from './exact.ts'

interface Tier {
  /** Base units; null if there is no end. */
  size: Fraction | null
  interval: Fraction
  price: Fraction
  ceil: boolean
}

export interface ModelTariff {
  method: PricingMethod
  tiers: Tier[]
  access: Fraction
  minimum: Fraction
  factor: Fraction
  /** Rounding before tax: of the price itself. */
  rounding: { how: 'up' | 'down' | 'nearest'; places: number } | null
  stepsPerUnit: bigint
}

/**
 * The price of a rate, or multiplied by a factor if `override` is a percentage of it. The method
 * and the rounding are those of the rate, wherever the price comes from. Rounding to
 * finer decimals than micros is rounding to micros: a balance holds nothing smaller.
 */
export function tariffOf(
  rate: RateDocument,
  base: PriceDocument,
  override: OverrideDocument | null,
  stepsPerUnit: bigint,
): ModelTariff {
  const isFactor = override !== null && 'percentage' in override
  const price = override === null || isFactor ? base : (override as PriceDocument)
  const { rounding_type, rounding_decimals = 2, rounding_stage } = rate.rounding_rules ?? {}
  const isRounded = rounding_type !== undefined && rounding_type !== 'None'
  return {
    method: rate.pricing_method ?? 'tiered',
    tiers: tiersOf(price.rate),
    access: exact(price.access ?? 0),
    minimum: exact(price.minimum_charge ?? 0),
    factor: isFactor ? exact(override.percentage) : fraction(1),
    rounding:
      isRounded && rounding_stage === 'before_tax'
        ? { how: rounding_type, places: rounding_decimals }
        : null,
    stepsPerUnit,
  }
}

/** Only sizes count. */
function tiersOf(documents: readonly TierDocument[]): Tier[] {
  let previousTo = 0
  return documents.map(({ from = previousTo, to = 'UNLIMITED', interval, price, ceil }) => {
    if (to !== 'UNLIMITED') previousTo = to
    const size = to === 'UNLIMITED' ? null : sum(exact(to), product(fraction(-1), exact(from)))
    return { size, interval: exact(interval), price: exact(price), ceil: ceil ?? true }
  })
}

/** Micros for the first `steps` of a segment, rounded once. */
export function priceOf(tariff: ModelTariff, steps: bigint, bearsAccess: boolean): bigint {
  if (steps === 0n) return 0n
  const units = fraction(steps, tariff.stepsPerUnit)
  const usage = MODELS[tariff.method](tariff, units)
  let price = product(bearsAccess ? sum(usage, tariff.access) : usage, tariff.factor)
  if (bearsAccess) price = larger(price, tariff.minimum)
  const { rounding } = tariff
  return microsOf(rounding === null ? price : roundedTo(price, rounding.how, rounding.places))
}

const MODELS: Readonly<Record<PricingMethod, typeof byTiers>> = {
  tiered: byTiers,
  volume: byVolume,
  package: byBlocks,
  graduated_flat: (tariff, units) => tierReached(tariff, units).price,
}

function byTiers({ tiers }: ModelTariff, units: Fraction): Fraction {
  let price = ZERO
  let left = units
  for (const tier of tiers) {
    const rest = tier.size === null ? ZERO : sum(left, product(fraction(-1), tier.size))
    const isLast = rest.over <= 0n
    price = sum(price, tierPrice(tier, isLast ? left : tier.size!))
    if (isLast) return price
    left = rest
  }
  return price
}

function byVolume(tariff: ModelTariff, units: Fraction): Fraction {
  return tierPrice(tierReached(tariff, units), units)
}

/** The one tier in whose range the volume ends; the last one beyond all of them. */
function tierReached({ tiers }: ModelTariff, units: Fraction): Tier {
  let end = ZERO
  for (const tier of tiers) {
    if (tier.size === null) return tier
    end = sum(end, tier.size)
    if (units.over * end.under <= end.over * units.under) return tier
  }
  return tiers.at(-1)!
}

/** As many blocks as begin in a tier; the last one may end beyond it. */
function byBlocks({ tiers }: ModelTariff, units: Fraction): Fraction {
  let price = ZERO
  let paid = ZERO
  let end = ZERO
  for (const { size, interval, price: each } of tiers) {
    end = size === null ? units : sum(end, size)
    const missing = sum(leastFraction(end, units), product(fraction(-1), paid))
    if (missing.over <= 0n) continue
    const blocks = fraction(
      upward({ over: missing.over * interval.under, under: missing.under * interval.over }),
    )
    price = sum(price, product(blocks, each))
    paid = sum(paid, product(blocks, interval))
  }
  return price
}

function leastFraction(a: Fraction, b: Fraction): Fraction {
  return a.over * b.under <= b.over * a.under ? a : b
}

function tierPrice({ interval, price, ceil }: Tier, units: Fraction): Fraction {
  const sold = { over: units.over * interval.under, under: units.under * interval.over }
  return product(ceil ? fraction(upward(sold)) : sold, price)
}

/** No unit that could be requested costs anything. */
export function isFree({ tiers, access, minimum, factor }: ModelTariff): boolean {
  const isWorthless = access.over === 0n && tiers.every(({ price }) => price.over === 0n)
  return minimum.over === 0n && (isWorthless || factor.over === 0n)
}

/**
 * The most steps, above `from` and up to `upTo`, at which and below which the price of the whole is
 * at most `money`. Between two tier bounds no price falls, so that each such range can be bisected.
 */
export function payableSteps(
  tariff: ModelTariff,
  bearsAccess: boolean,
  range: { from: bigint; upTo: bigint },
  money: bigint,
): bigint {
  let reached = range.from
  for (const bound of [...boundsOf(tariff), range.upTo]) {
    const end = leastOf(bound, range.upTo)
    if (end <= reached) continue
    let beyond = end + 1n
    while (beyond - reached > 1n) {
      const middle = (reached + beyond) / 2n
      if (priceOf(tariff, middle, bearsAccess) <= money) reached = middle
      else beyond = middle
    }
    if (reached < end) return reached
  }
  return reached
}

/** The bounds between tiers, in steps. */
function boundsOf({ tiers, stepsPerUnit }: ModelTariff): bigint[] {
  let end = ZERO
  const bounds: bigint[] = []
  for (const { size } of tiers) {
    if (size === null) break
    end = sum(end, size)
    bounds.push((end.over * stepsPerUnit) / end.under)
  }
  return bounds
}
