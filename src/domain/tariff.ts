/**
 * Compiled prices, integers only. The catalogue compiles them once. A session stores the tariff of
 * its grant, so that later changes of the catalogue do not change its price.
 */
import { divideHalfEven, divideHalfEvenBig } from './money.ts'

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

/** Rounding of the exact price to steps coarser than a micro. */
export interface PriceRounding {
  /** `nearest`: halves go up. */
  mode: 'up' | 'down' | 'nearest'
  /** Micros, above 1. */
  step: number
}

/** Terms of a price that differs from plain tiers of whole units. */
export interface TariffTerms {
  /** `volume`: all units have the price of the tier that contains the total volume. */
  method: 'tiered' | 'volume'
  /** Tier units per base unit, if tiers count fractions of it. A power of ten. */
  unitScale: number
  /** The price is multiplied by `factor` × 10^-factorDigits (`percentage` of an override). */
  factor: number
  factorDigits: number
  /**
   * Minimum price of a segment that is charged the access price; scale of the prices, before
   * `factor`.
   */
  minimum: number
  rounding: PriceRounding | null
}

/** The price of one usage type at one rate. Units beyond the last tier are free. */
export interface Tariff {
  tiers: Tier[]
  /**
   * Access price, due once per session and service with the first charged unit; same scale as the
   * prices.
   */
  access: number
  /** Decimals of the prices beyond a micro, 0 to 6. */
  extraDigits: number
  /** Null for a tiered price in whole units, without minimum, percentage or rounding. */
  terms: TariffTerms | null
}

/**
 * The position at which the price of a segment continues from earlier segments of its service. A
 * run is a series of consecutive segments at one tariff, priced and rounded as one.
 */
export interface PricePosition {
  /** Units priced before the run; its tiers keep counting from there. */
  at: number
  /** Units of the run in an interval that began before it, in the scale of the tiers. */
  ahead: number
  /** Units of the run in earlier segments. */
  before: number
  /** Whether one of those segments was charged the access price. */
  access: boolean
  /** Micros of a minimum charge paid before the run that its usage did not reach. */
  credit: number
}

/** The price exceeds the safe integers in micros. */
export class PriceRangeError extends Error {
  override name = 'PriceRangeError'
}

const POWERS = Array.from({ length: 13 }, (_, digits) => 10 ** digits)

/**
 * Price of the first `units` units of a segment, in micros, rounded half to even or as the terms
 * require. `access`: whether this segment is charged the access price. With a `position` the result
 * is the price of the run with these units minus its price without them. Throws `PriceRangeError`
 * past 2^53 micros.
 */
export function charge(
  tariff: Tariff,
  units: number,
  access: boolean,
  position: PricePosition | null = null,
): number {
  if (position === null) return priceOfRun(tariff, units, access, 0, 0)
  if (units === 0) return 0
  const { before } = position
  const isBorne = access || position.access
  return net(tariff, before + units, isBorne, position) - net(tariff, before, isBorne, position)
}

/** The price of a run beyond the minimum charge paid before it. */
function net(tariff: Tariff, units: number, access: boolean, position: PricePosition): number {
  const { at, ahead, credit } = position
  return Math.max(0, priceOfRun(tariff, units, access, at, ahead) - credit)
}

/** The price of a run, rounded once. `ahead`: tier units that are already paid for. */
function priceOfRun(
  tariff: Tariff,
  units: number,
  access: boolean,
  at: number,
  ahead: number,
): number {
  if (units === 0) return 0
  const { terms } = tariff
  let sum = sumOfTiers(tariff, units, at, ahead)
  if (sum < 0) return chargeBig(tariff, units, access, at, ahead)
  if (access) sum += tariff.access
  let divisor = POWERS[tariff.extraDigits]!
  if (terms !== null) {
    sum *= terms.factor
    const minimum = terms.minimum * POWERS[terms.factorDigits]!
    if (access && sum < minimum) sum = minimum
    divisor *= POWERS[terms.factorDigits]! * (terms.rounding?.step ?? 1)
  }
  if (sum > Number.MAX_SAFE_INTEGER || divisor > Number.MAX_SAFE_INTEGER) {
    return chargeBig(tariff, units, access, at, ahead)
  }
  const rounding = terms?.rounding ?? null
  if (rounding === null) return divideHalfEven(sum, divisor)
  return safeMicros(divide(sum, divisor, rounding.mode) * rounding.step, units)
}

/** In the scale of the prices; -1 if it exceeds the safe integers. */
function sumOfTiers({ tiers, terms }: Tariff, units: number, at: number, ahead: number): number {
  const scale = terms?.unitScale ?? 1
  const end = (at + units) * scale
  if (end > Number.MAX_SAFE_INTEGER) return -1
  let left = units * scale - ahead
  if (left <= 0) return 0
  if (terms?.method === 'volume') return sumOfInterval(tierOfVolume(tiers, end), left)
  let skipped = end - left
  let sum = 0
  for (const tier of tiers) {
    const room = tier.units - skipped
    if (room <= 0) {
      skipped -= tier.units
      continue
    }
    skipped = 0
    const taken = Math.min(left, room)
    const part = sumOfInterval(tier, taken)
    if (part < 0) return -1
    sum += part
    left -= taken
    if (left === 0) break
  }
  return sum > Number.MAX_SAFE_INTEGER ? -1 : sum
}

function sumOfInterval({ interval, price, ceil }: Tier, taken: number): number {
  // Part of an interval needs a division. Only exact fractions may be added before the one
  // rounding.
  if (!ceil && taken % interval !== 0) return -1
  const sum = Math.ceil(taken / interval) * price
  return sum > Number.MAX_SAFE_INTEGER ? -1 : sum
}

/** The tier that contains the volume; the last one for a volume beyond all tiers. */
export function tierOfVolume(tiers: readonly Tier[], volume: number): Tier {
  let end = 0
  for (const tier of tiers) {
    end += tier.units
    if (volume <= end) return tier
  }
  return tiers.at(-1)!
}

function divide(numerator: number, divisor: number, mode: PriceRounding['mode']): number {
  const remainder = numerator % divisor
  const quotient = (numerator - remainder) / divisor
  if (mode === 'up') return remainder > 0 ? quotient + 1 : quotient
  if (mode === 'down') return quotient
  return remainder * 2 >= divisor ? quotient + 1 : quotient
}

function chargeBig(
  tariff: Tariff,
  units: number,
  access: boolean,
  at: number,
  ahead: number,
): number {
  const { terms } = tariff
  let [numerator, denominator] = sumOfTiersBig(tariff, units, at, ahead)
  if (access) numerator += BigInt(tariff.access) * denominator
  denominator *= BigInt(POWERS[tariff.extraDigits]!)
  let step = 1n
  if (terms !== null) {
    const factorScale = BigInt(POWERS[terms.factorDigits]!)
    const scale = denominator / BigInt(POWERS[tariff.extraDigits]!)
    numerator *= BigInt(terms.factor)
    const minimum = BigInt(terms.minimum) * factorScale * scale
    if (access && numerator < minimum) numerator = minimum
    step = BigInt(terms.rounding?.step ?? 1)
    denominator *= factorScale * step
  }
  const mode = terms?.rounding?.mode
  const steps =
    mode === undefined
      ? divideHalfEvenBig(numerator, denominator)
      : divideBig(numerator, denominator, mode)
  return safeMicros(steps * step, units)
}

/** Numerator and denominator, in the scale of the prices. */
function sumOfTiersBig(
  { tiers, terms }: Tariff,
  units: number,
  at: number,
  ahead: number,
): [bigint, bigint] {
  const scale = BigInt(terms?.unitScale ?? 1)
  const end = BigInt(at + units) * scale
  let left = BigInt(units) * scale - BigInt(ahead)
  let numerator = 0n
  let denominator = 1n
  if (left <= 0n) return [numerator, denominator]
  const add = ({ interval: size, price, ceil }: Tier, taken: bigint) => {
    const interval = BigInt(size)
    if (ceil) {
      numerator += ((taken + interval - 1n) / interval) * BigInt(price) * denominator
    } else {
      numerator = numerator * interval + taken * BigInt(price) * denominator
      denominator *= interval
    }
  }
  if (terms?.method === 'volume') {
    add(tierOfVolume(tiers, Number(end)), left)
    return [numerator, denominator]
  }
  let skipped = end - left
  for (const tier of tiers) {
    const room = BigInt(tier.units) - skipped
    if (tier.units !== UNLIMITED && room <= 0n) {
      skipped -= BigInt(tier.units)
      continue
    }
    skipped = 0n
    const taken = tier.units === UNLIMITED || left < room ? left : room
    add(tier, taken)
    left -= taken
    if (left === 0n) break
  }
  return [numerator, denominator]
}

function divideBig(numerator: bigint, divisor: bigint, mode: PriceRounding['mode']): bigint {
  const remainder = numerator % divisor
  const quotient = numerator / divisor
  if (mode === 'up') return remainder > 0n ? quotient + 1n : quotient
  if (mode === 'down') return quotient
  return remainder * 2n >= divisor ? quotient + 1n : quotient
}

function safeMicros(micros: number | bigint, units: number): number {
  if (micros > Number.MAX_SAFE_INTEGER) {
    throw new PriceRangeError(`price of ${units} units exceeds 2^53 micros`)
  }
  return Number(micros)
}

/** Whether every volume is free of charge, so that usage debits no bucket. */
export function isFree({ access, tiers, terms }: Tariff): boolean {
  if (terms !== null && terms.minimum > 0) return false
  if (terms?.factor === 0) return true
  return access === 0 && tiers.every((tier) => tier.price === 0)
}

/**
 * The highest price between `from` and `to` units, since usage may stop anywhere. Only a volume
 * price can fall, and only at the start of a tier.
 */
export function peakCharge(
  tariff: Tariff,
  from: number,
  to: number,
  access: boolean,
  position: PricePosition | null = null,
): number {
  let peak = charge(tariff, to, access, position)
  if (tariff.terms?.method !== 'volume') return peak
  const earlier = position === null ? 0 : position.at + position.before
  let end = 0
  for (const tier of tariff.tiers) {
    end += tier.units
    const whole = Math.floor(end / tariff.terms.unitScale) - earlier
    if (whole >= to) break
    if (whole > from) peak = Math.max(peak, charge(tariff, whole, access, position))
  }
  return peak
}

/**
 * The largest number of units, up to `cap`, that costs at most `budget` micros beyond `charged` on
 * top of `chargedUnits`, wherever usage stops. The peak never falls with volume, so the binary
 * search is exact.
 */
export function affordable(
  tariff: Tariff,
  access: boolean,
  chargedUnits: number,
  charged: number,
  budget: number,
  cap: number,
  position: PricePosition | null = null,
): number {
  const fits = (units: number) =>
    peakOf(tariff, access, position, chargedUnits, chargedUnits + units) - charged <= budget
  if (cap === 0 || fits(cap)) return cap
  return largestFitting(cap, fits)
}

/** The largest number below `cap` that fits, provided that all smaller ones do. */
export function largestFitting(cap: number, fits: (units: number) => boolean): number {
  let low = 0
  let high = cap
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2)
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}

function peakOf(
  tariff: Tariff,
  access: boolean,
  position: PricePosition | null,
  from: number,
  to: number,
): number {
  try {
    return peakCharge(tariff, from, to, access, position)
  } catch (error) {
    if (error instanceof PriceRangeError) return Number.POSITIVE_INFINITY
    throw error
  }
}
