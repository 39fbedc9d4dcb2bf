/** A tier of a price, and its intervals. */
import type { Fraction } from '../exact.ts'

/** Size of the last tier. Finite, so that it is packed and cloned as an ordinary number. */
export const UNLIMITED = Number.MAX_SAFE_INTEGER

/** One price step. `units` counts from the end of the previous tier. */
export interface Tier {
  /** Size of the tier in units; UNLIMITED if it has no end. */
  units: number
  /** Units per interval, the smallest quantity that is sold. */
  interval: number
  /** Price of one interval, in 10^-(6 + extraDigits) of the currency. */
  price: number
  /** True if a begun interval is charged in full; false if in proportion. */
  ceil: boolean
}

/** Units that are priced by one tier. */
export interface Sale {
  /** Index of the tier. */
  tier: number
  units: bigint
  /** Units per interval, and the number of intervals that are charged. */
  interval: bigint
  intervals: Fraction
}

/** The price of units in one tier; -1 if it is no safe integer. */
export function priceInTier({ interval, price, ceil }: Tier, units: number): number {
  // Part of an interval needs a division. Only exact fractions may be added before the one
  // rounding.
  if (!ceil && units % interval !== 0) return -1
  const sum = Math.ceil(units / interval) * price
  return sum > Number.MAX_SAFE_INTEGER ? -1 : sum
}

export function saleInTier({ interval: size, ceil }: Tier, tier: number, units: bigint): Sale {
  const interval = BigInt(size)
  const intervals = ceil
    ? { numerator: (units + interval - 1n) / interval, denominator: 1n }
    : { numerator: units, denominator: interval }
  return { tier, units, interval, intervals }
}

/** The tier that contains the volume; the last one for a volume beyond all tiers. */
export function tierReached(tiers: readonly Tier[], volume: number | bigint): number {
  let end = 0
  for (let index = 0; index < tiers.length - 1; index += 1) {
    end += tiers[index]!.units
    if (volume <= end) return index
  }
  return tiers.length - 1
}

/** The end of the tier that a volume reaches; the last one has none. */
export function endOf(tiers: readonly Tier[], index: number): number {
  if (index === tiers.length - 1) return UNLIMITED
  let end = 0
  for (const { units } of tiers.slice(0, index + 1)) end += units
  return Math.min(UNLIMITED, end)
}
