/**
 * Money in the hot path: integers in micros (scale 6). Prices may be finer, down to 1e-12 of the
 * currency. Each computation rounds once, half to even, by quotient and remainder.
 */
export const MICROS_PER_UNIT = 1_000_000
export const MICROS_DIGITS = 6
/** Maximum number of decimals of a price. */
export const PRICE_DIGITS_MAX = 12

const DECIMAL = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/

/** An exact decimal: value = digits × 10^-scale. */
export interface ExactDecimal {
  digits: bigint
  scale: number
}

/** A decimal with this number of digits survives conversion to a double and back. */
export const DOUBLE_DIGITS = 15

/**
 * Reads a number or a decimal text. A text is exact. A double is read as the decimal of at most 15
 * digits that it represents: 0.1 * 3 is 0.3. So is the text of a double (16 or 17 digits) with more
 * decimals than a price may have. Null if it is not a finite decimal number.
 */
export function parseDecimal(value: string | number): ExactDecimal | null {
  const decimal = exactDecimal(String(value).trim())
  const isExact = decimal === null || (typeof value === 'number' && decimal.scale <= MICROS_DIGITS)
  if (isExact || !hasNoise(value, decimal)) return decimal
  return exactDecimal(Number(value).toPrecision(DOUBLE_DIGITS))
}

/** `-1.2345678901234567e-300`, with room for zeros. */
const DOUBLE_TEXT_MAX = 40

/** Whether the last digits of a number, or of its text, may be the rounding error of a double. */
export function hasNoise(value: string | number, decimal: ExactDecimal): boolean {
  if (absolute(decimal.digits) < 10n ** BigInt(DOUBLE_DIGITS)) return false
  if (typeof value === 'number') return decimal.scale > 0
  if (decimal.scale <= PRICE_DIGITS_MAX || value.length > DOUBLE_TEXT_MAX) return false
  return isSame(exactDecimal(String(Number(value))), decimal)
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value
}

function isSame(one: ExactDecimal | null, other: ExactDecimal): boolean {
  return one !== null && one.digits === other.digits && one.scale === other.scale
}

/** Parses a decimal text without going through a binary fraction; null if it is not one. */
export function exactDecimal(text: string): ExactDecimal | null {
  const match = DECIMAL.exec(text)
  if (match === null) return null
  const [, sign, whole = '', decimals = '', exponent = '0'] = match
  const fraction = withoutTrailingZeros(decimals)
  let scale = fraction.length - Number(exponent)
  let digits = BigInt(whole + fraction)
  if (sign === '-') digits = -digits
  if (scale < 0) {
    digits *= 10n ** BigInt(-scale)
    scale = 0
  }
  while (scale > 0 && digits % 10n === 0n) {
    digits /= 10n
    scale -= 1
  }
  return { digits, scale }
}

/** In one pass, because external text may be long. */
function withoutTrailingZeros(text: string): string {
  let end = text.length
  while (text[end - 1] === '0') end -= 1
  return text.slice(0, end)
}

/**
 * The decimal as an integer at the given scale. Null if it has more decimals than that, or does not
 * fit in 2^53.
 */
export function toScale(value: ExactDecimal, scale: number): number | null {
  if (value.scale > scale) return null
  const scaled = value.digits * 10n ** BigInt(scale - value.scale)
  const result = Number(scaled)
  return Number.isSafeInteger(result) ? result : null
}

/** A decimal amount as micros; null if it is not a number, finer than a micro or too large. */
export function microsFrom(value: string | number): number | null {
  const decimal = parseDecimal(value)
  return decimal === null ? null : toScale(decimal, MICROS_DIGITS)
}

/** Micros as the shortest decimal text: -1500000 → "-1.5". */
export function decimalText(micros: number): string {
  const sign = micros < 0 ? '-' : ''
  const size = Math.abs(micros)
  const whole = Math.floor(size / MICROS_PER_UNIT)
  const fraction = size % MICROS_PER_UNIT
  if (fraction === 0) return `${sign}${whole}`
  return `${sign}${whole}.${String(fraction).padStart(MICROS_DIGITS, '0').replace(/0+$/, '')}`
}

/** numerator / divisor for non-negative safe integers, rounded half to even. */
export function divideHalfEven(numerator: number, divisor: number): number {
  const remainder = numerator % divisor
  const quotient = (numerator - remainder) / divisor
  const twice = remainder * 2
  if (twice < divisor) return quotient
  if (twice > divisor) return quotient + 1
  return quotient % 2 === 0 ? quotient : quotient + 1
}

/** The same for BigInt. */
export function divideHalfEvenBig(numerator: bigint, divisor: bigint): bigint {
  const quotient = numerator / divisor
  const twice = (numerator % divisor) * 2n
  if (twice < divisor) return quotient
  if (twice > divisor) return quotient + 1n
  return quotient % 2n === 0n ? quotient : quotient + 1n
}
