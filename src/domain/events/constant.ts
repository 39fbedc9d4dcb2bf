/**
 * Constants of conditions, and where an amount lies relative to them. Exact: no binary fractions.
 */
import { type ExactDecimal, exactDecimal, MICROS_DIGITS, parseDecimal, toScale } from '../money.ts'

/** The unit of an amount: units of usage, or micros. */
export type AmountKind = 'units' | 'money'

export function scaleOf(kind: AmountKind): number {
  return kind === 'money' ? MICROS_DIGITS : 0
}

/** An amount as it is reported: units, or the currency with at most 6 decimals. */
export function reportedAmount(amount: number, kind: AmountKind): number {
  return kind === 'money' ? amount / 10 ** MICROS_DIGITS : amount
}

/** A constant in units or in the currency: `0.1` is 100,000 micros. */
export class Constant {
  readonly decimal: ExactDecimal
  /** As an integer of that kind; null if it has more decimals, or exceeds 2^53. */
  readonly #units: number | null
  readonly #money: number | null

  /** For shares as integers: amount × factor is compared with total × digits. */
  readonly #shareFactor: number
  readonly #shareDigits: number

  constructor(decimal: ExactDecimal) {
    this.decimal = decimal
    this.#units = toScale(decimal, scaleOf('units'))
    this.#money = toScale(decimal, scaleOf('money'))
    this.#shareFactor = 100 * 10 ** decimal.scale
    this.#shareDigits = Number(decimal.digits)
  }

  get isPositive(): boolean {
    return this.decimal.digits > 0n
  }

  /** The constant as it is reported. */
  get reported(): number {
    return numberOf(this.decimal.digits, this.decimal.scale)
  }

  at(kind: AmountKind): number | null {
    return kind === 'money' ? this.#money : this.#units
  }

  /** Negative if the amount is below the constant, positive if it is above, 0 if it is equal. */
  compare(amount: number, kind: AmountKind): number {
    const whole = this.at(kind)
    if (whole !== null) return Math.sign(amount - whole)
    const { digits, scale } = this.decimal
    return signOf(BigInt(amount) * power(scale) - digits * power(scaleOf(kind)))
  }

  /** How many times the constant, which is positive, fits into an amount, rounded down. */
  countIn(amount: number, kind: AmountKind): number {
    const whole = this.at(kind)
    if (whole !== null) return floorDivide(amount, whole)
    const { digits, scale } = this.decimal
    return Number(floorDivideBig(BigInt(amount) * power(scale), digits * power(scaleOf(kind))))
  }

  /** A multiple as it is reported. */
  multiple(count: number): number {
    return numberOf(this.decimal.digits * BigInt(count), this.decimal.scale)
  }

  /** As `compare`, with this percentage of `total`. */
  compareShare(amount: number, total: number): number {
    const left = amount * this.#shareFactor
    const right = total * this.#shareDigits
    if (Number.isSafeInteger(left) && Number.isSafeInteger(right)) return Math.sign(left - right)
    const { digits, scale } = this.decimal
    return signOf(BigInt(amount) * 100n * power(scale) - digits * BigInt(total))
  }

  /** This percentage of `total` as it is reported. */
  share(total: number, kind: AmountKind): number {
    const { digits, scale } = this.decimal
    return numberOf(digits * BigInt(total), scale + 2 + scaleOf(kind))
  }
}

/** Null if it is not a decimal number. */
export function constantFrom(value: unknown): Constant | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null
  const decimal = parseDecimal(value)
  return decimal === null ? null : new Constant(decimal)
}

/** digits × 10^-scale as the nearest number. */
function numberOf(digits: bigint, scale: number): number {
  const decimal = exactDecimal(`${digits}e-${scale}`)
  return decimal === null ? Number.NaN : Number(`${decimal.digits}e-${decimal.scale}`)
}

function power(exponent: number): bigint {
  return 10n ** BigInt(exponent)
}

function signOf(difference: bigint): number {
  if (difference === 0n) return 0
  return difference > 0n ? 1 : -1
}

/** Exact: a quotient of large integers could be rounded up. */
function floorDivide(amount: number, divisor: number): number {
  const remainder = amount % divisor
  const quotient = (amount - remainder) / divisor
  return remainder < 0 ? quotient - 1 : quotient
}

function floorDivideBig(amount: bigint, divisor: bigint): bigint {
  const quotient = amount / divisor
  return amount % divisor < 0n ? quotient - 1n : quotient
}
