import { Decimal128, Double, Int32, Long } from 'bson'
import type { Numeric, Value } from './document.ts'

const INT32_MIN = -(2 ** 31)
const INT32_MAX = 2 ** 31 - 1
const LONG_MIN = -(2n ** 63n)
const LONG_MAX = 2n ** 63n - 1n
const DECIMAL_DIGITS = 34n

/** A finite number as `coefficient × 10^exponent`, exactly. */
export type ExactNumber = { readonly coefficient: bigint; readonly exponent: number }

export function isNumeric(value: Value): value is Numeric {
  return (
    value instanceof Int32 ||
    value instanceof Double ||
    value instanceof Long ||
    value instanceof Decimal128
  )
}

/** The value as a JavaScript number, rounded if necessary. */
export function toNumber(value: Numeric): number {
  if (value instanceof Long) return value.toNumber()
  return value instanceof Decimal128 ? Number(value.toString()) : value.value
}

/**
 * Compares two numbers of any types, exactly where a double would round. NaN equals itself and is
 * less than all others.
 */
export function compareNumeric(a: Numeric, b: Numeric): number {
  const exactA = a instanceof Long || a instanceof Decimal128
  const exactB = b instanceof Long || b instanceof Decimal128
  const x = toNumber(a)
  const y = toNumber(b)
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(y)) - Number(Number.isNaN(x))
  // Rounding keeps the order, so only a tie can hide a difference.
  if (x !== y && !(isOverflow(x, a) || isOverflow(y, b))) return x < y ? -1 : 1
  if (!exactA && !exactB) return 0
  return compareExact(exactOf(a), exactOf(b))
}

/** A finite decimal beyond the range of doubles becomes infinite. */
function isOverflow(asNumber: number, value: Numeric): boolean {
  return !Number.isFinite(asNumber) && value instanceof Decimal128
}

/** The exact value; ±Infinity and NaN are returned as numbers. */
export function exactOf(value: Numeric): ExactNumber | number {
  if (value instanceof Int32) return { coefficient: BigInt(value.value), exponent: 0 }
  if (value instanceof Long) return { coefficient: value.toBigInt(), exponent: 0 }
  return value instanceof Double ? exactOfDouble(value.value) : exactOfDecimal(value)
}

export function exactOfDouble(value: number): ExactNumber | number {
  if (!Number.isFinite(value)) return value
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, Math.abs(value))
  const bits = view.getBigUint64(0)
  const stored = Number(bits >> 52n)
  const fraction = bits & (2n ** 52n - 1n)
  // A double is mantissa × 2^power; 2^-n is 5^n × 10^-n.
  const mantissa = stored === 0 ? fraction : fraction + 2n ** 52n
  const power = (stored === 0 ? 1 : stored) - 1075
  const signed = value < 0 ? -mantissa : mantissa
  if (power >= 0) return { coefficient: signed << BigInt(power), exponent: 0 }
  return { coefficient: signed * 5n ** BigInt(-power), exponent: power }
}

function exactOfDecimal(value: Decimal128): ExactNumber | number {
  const text = value.toString()
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:E([+-]\d+))?$/.exec(text)
  if (!parts) return Number(text)
  const [, sign, whole, fraction = '', power = '0'] = parts
  const coefficient = BigInt(`${whole}${fraction}`)
  return {
    coefficient: sign === '-' ? -coefficient : coefficient,
    exponent: Number(power) - fraction.length,
  }
}

export function compareExact(a: ExactNumber | number, b: ExactNumber | number): number {
  if (typeof a === 'number' || typeof b === 'number') {
    const x = typeof a === 'number' ? a : 0
    const y = typeof b === 'number' ? b : 0
    return x === y ? 0 : x < y ? -1 : 1
  }
  const [x, y] = aligned(a, b)
  return x === y ? 0 : x < y ? -1 : 1
}

function aligned(a: ExactNumber, b: ExactNumber): [bigint, bigint] {
  const exponent = Math.min(a.exponent, b.exponent)
  return [
    a.coefficient * 10n ** BigInt(a.exponent - exponent),
    b.coefficient * 10n ** BigInt(b.exponent - exponent),
  ]
}

export function addExact(a: ExactNumber, b: ExactNumber): ExactNumber {
  const [x, y] = aligned(a, b)
  return { coefficient: x + y, exponent: Math.min(a.exponent, b.exponent) }
}

export function subtractExact(a: ExactNumber, b: ExactNumber): ExactNumber {
  const [x, y] = aligned(a, b)
  return { coefficient: x - y, exponent: Math.min(a.exponent, b.exponent) }
}

export type Arithmetic = 'add' | 'subtract' | 'multiply' | 'divide'

/**
 * Computes in the wider of the two types: int, long, double, decimal. An int that overflows becomes
 * a long; undefined if a long overflows, which the caller handles.
 */
export function arithmetic(kind: Arithmetic, a: Numeric, b: Numeric): Numeric | undefined {
  if (a instanceof Decimal128 || b instanceof Decimal128) return decimalArithmetic(kind, a, b)
  if (a instanceof Double || b instanceof Double || kind === 'divide') {
    return new Double(doubleArithmetic(kind, toNumber(a), toNumber(b)))
  }
  const result = bigintArithmetic(kind, bigintOf(a), bigintOf(b))
  const narrow = a instanceof Int32 && b instanceof Int32
  if (narrow && result >= INT32_MIN && result <= INT32_MAX) return new Int32(Number(result))
  return result >= LONG_MIN && result <= LONG_MAX ? Long.fromBigInt(result) : undefined
}

function bigintOf(value: Int32 | Long): bigint {
  return value instanceof Long ? value.toBigInt() : BigInt(value.value)
}

function doubleArithmetic(kind: Arithmetic, a: number, b: number): number {
  if (kind === 'add') return a + b
  if (kind === 'subtract') return a - b
  return kind === 'multiply' ? a * b : a / b
}

function bigintArithmetic(kind: Arithmetic, a: bigint, b: bigint): bigint {
  if (kind === 'add') return a + b
  return kind === 'subtract' ? a - b : a * b
}

function decimalArithmetic(kind: Arithmetic, a: Numeric, b: Numeric): Decimal128 {
  const x = exactOf(toDecimal(a))
  const y = exactOf(toDecimal(b))
  const special = typeof x === 'number' || typeof y === 'number'
  if (special || (kind === 'divide' && y.coefficient === 0n)) {
    return Decimal128.fromString(String(doubleArithmetic(kind, toNumber(a), toNumber(b))))
  }
  if (kind === 'multiply') {
    return decimalOf({
      coefficient: x.coefficient * y.coefficient,
      exponent: x.exponent + y.exponent,
    })
  }
  if (kind === 'divide') return decimalOf(quotient(x, y))
  const right = kind === 'add' ? { ...y, coefficient: -y.coefficient } : y
  return decimalOf(subtractExact(x, right))
}

/**
 * A double is converted to decimal with the 15 digits that it represents exactly, as in MongoDB.
 */
export function toDecimal(value: Numeric): Decimal128 {
  if (value instanceof Decimal128) return value
  if (value instanceof Double && Number.isFinite(value.value)) {
    return Decimal128.fromString(value.value.toPrecision(15))
  }
  return Decimal128.fromString(value.toString())
}

/** Enough digits to round to 34, and a last one that marks a discarded remainder. */
function quotient(a: ExactNumber, b: ExactNumber): ExactNumber {
  const lack = digitsOf(b.coefficient) - digitsOf(a.coefficient)
  const shift = Number(DECIMAL_DIGITS) + 2 + Math.max(0, lack)
  const scaled = a.coefficient * 10n ** BigInt(shift)
  const whole = scaled / b.coefficient
  const rest = scaled % b.coefficient !== 0n
  if (!rest) return { coefficient: whole, exponent: a.exponent - b.exponent - shift }
  const negative = a.coefficient < 0n !== b.coefficient < 0n
  return {
    coefficient: whole * 10n + (negative ? -1n : 1n),
    exponent: a.exponent - b.exponent - shift - 1,
  }
}

function digitsOf(value: bigint): number {
  return value.toString().length - (value < 0n ? 1 : 0)
}

/** Rounds half to even to the 34 digits of a decimal; exact results get no padding zeros. */
export function decimalOf(exact: ExactNumber): Decimal128 {
  let { coefficient, exponent } = exact
  const excess = digitsOf(coefficient) - Number(DECIMAL_DIGITS)
  if (excess > 0) {
    coefficient = divideHalfEven(coefficient, 10n ** BigInt(excess))
    exponent += excess
  }
  while (excess > 0 && coefficient !== 0n && coefficient % 10n === 0n) {
    coefficient /= 10n
    exponent += 1
  }
  return Decimal128.fromString(`${coefficient}E${exponent}`)
}

function divideHalfEven(value: bigint, by: bigint): bigint {
  const magnitude = value < 0n ? -value : value
  const twice = (magnitude % by) * 2n
  let result = magnitude / by
  if (twice > by || (twice === by && result % 2n === 1n)) result += 1n
  return value < 0n ? -result : result
}
