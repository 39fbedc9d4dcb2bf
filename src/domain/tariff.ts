/**
 * Compiled prices, integers only. The catalogue compiles them once. A session stores the tariff of
 * its grant, so that later changes of the catalogue do not change its price.
 */
import { type Fraction, integerFraction, plus, product } from './exact.ts'
import { divideHalfEven, divideHalfEvenBig } from './money.ts'
import { modelOf, type PricingMethod } from './pricing/models.ts'
import type { Sale, Tier } from './pricing/tier.ts'
import { TIERED } from './pricing/tiered.ts'

/** Rounding of the exact price to steps coarser than a micro. */
export interface PriceRounding {
  /** `nearest`: halves go up. */
  mode: 'up' | 'down' | 'nearest'
  /** Micros, above 1. */
  step: number
}

/** Terms of a price that differs from plain tiers of whole units. */
export interface TariffTerms {
  method: PricingMethod
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
  /** Micros paid before the run for no units: a fixed price, or a minimum charge not reached. */
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
  if (sum < 0) return exactMicros(tariff, units, access, at, ahead)
  if (access) sum += tariff.access
  let divisor = POWERS[tariff.extraDigits]!
  if (terms !== null) {
    sum *= terms.factor
    const minimum = terms.minimum * POWERS[terms.factorDigits]!
    if (access && sum < minimum) sum = minimum
    divisor *= POWERS[terms.factorDigits]! * (terms.rounding?.step ?? 1)
  }
  if (sum > Number.MAX_SAFE_INTEGER || divisor > Number.MAX_SAFE_INTEGER) {
    return exactMicros(tariff, units, access, at, ahead)
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
  const left = units * scale - ahead
  if (left <= 0) return 0
  // The usual price by a direct call, which is inlined.
  if (terms === null) return TIERED.price(tiers, end - left, left)
  return modelOf(terms).price(tiers, end - left, left)
}

function divide(numerator: number, divisor: number, mode: PriceRounding['mode']): number {
  const remainder = numerator % divisor
  const quotient = (numerator - remainder) / divisor
  if (mode === 'up') return remainder > 0 ? quotient + 1 : quotient
  if (mode === 'down') return quotient
  return remainder * 2 >= divisor ? quotient + 1 : quotient
}

function exactMicros(
  tariff: Tariff,
  units: number,
  access: boolean,
  at: number,
  ahead: number,
): number {
  return safeMicros(exactPrice(tariff, units, access, { at, ahead }), units)
}

/** Parts of a price, in this order; units and amounts in the scale of the tiers and prices. */
export type ExactPart =
  /** Tier units that are paid for, and tier units beyond the last tier. */
  | { part: 'begun' | 'beyond'; units: bigint }
  | { part: 'tier'; sale: Sale; amount: Fraction }
  | { part: 'access' }
  /** The sum after the part. */
  | { part: 'percentage'; factor: Fraction; sum: Fraction }
  | { part: 'minimum'; sum: Fraction }
  | { part: 'rounding'; micros: bigint }

/** The price of a run in micros, of any size. `onPart` receives the parts that change it. */
export function exactPrice(
  tariff: Tariff,
  units: number,
  access: boolean,
  position: Pick<PricePosition, 'at' | 'ahead'>,
  onPart?: (part: ExactPart) => void,
): bigint {
  const { terms } = tariff
  let sum = exactSum(tariff, units, position, onPart)
  if (access && tariff.access > 0) {
    sum = plus(sum, integerFraction(tariff.access))
    onPart?.({ part: 'access' })
  }
  if (terms !== null) {
    const { factor: numerator, factorDigits, minimum } = terms
    const factor = { numerator: BigInt(numerator), denominator: BigInt(POWERS[factorDigits]!) }
    sum = product(sum, factor)
    if (factor.numerator !== factor.denominator) onPart?.({ part: 'percentage', factor, sum })
    if (access && sum.numerator < BigInt(minimum) * sum.denominator) {
      sum = integerFraction(minimum)
      onPart?.({ part: 'minimum', sum })
    }
  }
  const { mode = null, step = 1 } = terms?.rounding ?? {}
  const divisor = sum.denominator * BigInt(POWERS[tariff.extraDigits]!) * BigInt(step)
  const steps =
    mode === null
      ? divideHalfEvenBig(sum.numerator, divisor)
      : divideBig(sum.numerator, divisor, mode)
  const micros = steps * BigInt(step)
  if (steps * divisor !== sum.numerator) onPart?.({ part: 'rounding', micros })
  return micros
}

/** In the scale of the prices. */
function exactSum(
  { tiers, terms }: Tariff,
  units: number,
  { at, ahead }: Pick<PricePosition, 'at' | 'ahead'>,
  onPart?: (part: ExactPart) => void,
): Fraction {
  const scale = BigInt(terms?.unitScale ?? 1)
  const all = BigInt(units) * scale
  const begun = all < BigInt(ahead) ? all : BigInt(ahead)
  if (begun > 0n) onPart?.({ part: 'begun', units: begun })
  let sum = integerFraction(0)
  let left = all - begun
  if (left === 0n) return sum
  const end = BigInt(at + units) * scale
  for (const sale of modelOf(terms).sales(tiers, end - left, left)) {
    const amount = product(sale.intervals, integerFraction(tiers[sale.tier]!.price))
    sum = plus(sum, amount)
    left -= sale.units
    onPart?.({ part: 'tier', sale, amount })
  }
  if (left > 0n) onPart?.({ part: 'beyond', units: left })
  return sum
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

/** Whether more units may cost less. */
export function canFall({ terms }: Tariff): boolean {
  return terms !== null && modelOf(terms).canFall
}

/** Whether every volume is free of charge, so that usage debits no bucket. */
export function isFree({ access, tiers, terms }: Tariff): boolean {
  if (terms !== null && terms.minimum > 0) return false
  if (terms?.factor === 0) return true
  return access === 0 && tiers.every((tier) => tier.price === 0)
}

/**
 * The highest price between `from` and `to` units, since usage may stop anywhere. A price falls
 * only at the start of a tier.
 */
export function peakCharge(
  tariff: Tariff,
  from: number,
  to: number,
  access: boolean,
  position: PricePosition | null = null,
): number {
  let peak = charge(tariff, to, access, position)
  if (!canFall(tariff)) return peak
  const earlier = position === null ? 0 : position.at + position.before
  let end = 0
  for (const tier of tariff.tiers) {
    end += tier.units
    const whole = Math.floor(end / (tariff.terms?.unitScale ?? 1)) - earlier
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
