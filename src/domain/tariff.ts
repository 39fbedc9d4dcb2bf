/**
 * Compiled prices: integers only, ready for the hot path. The catalogue compiles them once; a
 * session keeps the one it was granted under, so that a later change of the catalogue cannot
 * reprice it.
 */
import { divideHalfEven, divideHalfEvenBig } from './money.ts'

/** A tier without an end. Finite, so that it packs and clones as a plain number. */
export const UNLIMITED = Number.MAX_SAFE_INTEGER

/** One price step. `units` counts from the end of the tier before. */
export interface Tier {
  /** How many units the tier holds; UNLIMITED for no end. */
  units: number
  /** Units sold at once. */
  interval: number
  /** Price of one interval, in 10^-(6 + extraDigits) of the currency. */
  price: number
  /** True: a begun interval is charged whole. False: in proportion. */
  ceil: boolean
}

/** The price of one usage type at one rate. Units beyond the last tier are free. */
export interface Tariff {
  tiers: Tier[]
  /** Once per session and service, when the first unit is priced; same scale as the prices. */
  access: number
  /** Digits of the prices finer than a micro, 0 to 6. */
  extraDigits: number
}

/** Money of `units` priced units from zero is more than a safe integer of micros holds. */
export class PriceRangeError extends Error {
  override name = 'PriceRangeError'
}

const SCALES = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]

/**
 * Price of the first `units` priced units, in micros, rounded once, half to even.
 * `access`: whether this segment bears the access price. Throws `PriceRangeError` past 2^53 micros.
 */
export function charge(tariff: Tariff, units: number, access: boolean): number {
  if (units === 0) return 0
  let left = units
  let sum = access ? tariff.access : 0
  for (const tier of tariff.tiers) {
    const taken = Math.min(left, tier.units)
    if (tier.ceil || taken % tier.interval === 0) {
      sum += Math.ceil(taken / tier.interval) * tier.price
    } else {
      // A part of an interval divides: only exact fractions may be added up before the one
      // rounding.
      return chargeBig(tariff, units, access)
    }
    left -= taken
    if (left === 0) break
  }
  if (sum > Number.MAX_SAFE_INTEGER) return chargeBig(tariff, units, access)
  return divideHalfEven(sum, SCALES[tariff.extraDigits]!)
}

function chargeBig(tariff: Tariff, units: number, access: boolean): number {
  let left = BigInt(units)
  let numerator = access ? BigInt(tariff.access) : 0n
  let denominator = 1n
  for (const tier of tariff.tiers) {
    const taken = left < BigInt(tier.units) ? left : BigInt(tier.units)
    const interval = BigInt(tier.interval)
    if (tier.ceil) {
      numerator += ((taken + interval - 1n) / interval) * BigInt(tier.price) * denominator
    } else {
      numerator = numerator * interval + taken * BigInt(tier.price) * denominator
      denominator *= interval
    }
    left -= taken
    if (left === 0n) break
  }
  const micros = divideHalfEvenBig(numerator, denominator * BigInt(SCALES[tariff.extraDigits]!))
  if (micros > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new PriceRangeError(`price of ${units} units exceeds 2^53 micros`)
  }
  return Number(micros)
}

/** True if no volume costs anything: such usage touches no bucket. */
export function isFree(tariff: Tariff): boolean {
  return tariff.access === 0 && tariff.tiers.every((tier) => tier.price === 0)
}

/**
 * The most units, up to `cap`, that can be priced on top of `priced` for at most `budget` micros
 * beyond `charged`. The charge never falls with volume, so a search by halves is exact.
 */
export function affordable(
  tariff: Tariff,
  access: boolean,
  priced: number,
  charged: number,
  budget: number,
  cap: number,
): number {
  const fits = (units: number) => costs(tariff, access, priced + units) - charged <= budget
  if (cap === 0 || fits(cap)) return cap
  let low = 0
  let high = cap
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2)
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}

function costs(tariff: Tariff, access: boolean, units: number): number {
  try {
    return charge(tariff, units, access)
  } catch (error) {
    if (error instanceof PriceRangeError) return Number.POSITIVE_INFINITY
    throw error
  }
}
