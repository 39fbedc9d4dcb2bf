/**
 * Converts volumes between their unit and integer base units (seconds, bytes, events, micros of the
 * currency, millimetres, milligrams). Exact in both directions, without binary fractions.
 */
import { FieldError, isUnset } from '../domain/fields.ts'
import { DOUBLE_DIGITS, exactDecimal, hasNoise } from '../domain/money.ts'
import { microsOfUnitValue, TOO_MANY_MICROS, UNIT_VALUE } from './unit-value.ts'

/**
 * Base units per unit. `hhmmss` is seconds as clock time: `013000` or `01:30:00`; `unit_value` is
 * money as digits and exponent.
 */
const FACTORS: Readonly<Record<string, number>> = {
  counter: 1,
  seconds: 1,
  minutes: 60,
  hours: 3600,
  hhmmss: 1,
  byte: 1,
  kb1000: 1e3,
  mb1000: 1e6,
  gb1000: 1e9,
  tb1000: 1e12,
  kb1024: 2 ** 10,
  mb1024: 2 ** 20,
  gb1024: 2 ** 30,
  tb1024: 2 ** 40,
  micros: 1,
  [UNIT_VALUE]: 1e6,
  mm: 1,
  cm: 10,
  m: 1e3,
  km: 1e6,
  mg: 1,
  g: 1e3,
  kg: 1e6,
  ton: 1e9,
}
export const UNITS: readonly string[] = Object.keys(FACTORS)
const FACTOR = new Map(Object.entries(FACTORS))

/** The unit in a field of a document; `counter` if absent. Throws `FieldError`. */
export function unitAt(value: unknown, path: string): string {
  if (isUnset(value)) return 'counter'
  if (typeof value === 'string' && FACTOR.has(value)) return value
  const text = typeof value === 'string' ? `'${value}'` : typeof value
  throw new FieldError(path, `must be one of ${UNITS.join(', ')}, is ${text}`)
}

/** Whether amounts of the unit are decimal numbers; those of `hhmmss` are digits. */
export function isDecimalUnit(unit: string): boolean {
  return unit !== 'hhmmss'
}

const NOT_A_NUMBER = 'must be a number from 0 up'
const TOO_LARGE = 'is more than 2^53 - 1 base units'
const CHARS_MAX = 64

/** Whether `toBaseUnits` rejected a number only because it is too large. */
export function isTooLarge(why: string): boolean {
  return why === TOO_LARGE || why === TOO_MANY_MICROS
}

/**
 * Converts a number or its text to base units, up to 2^53 - 1; fractions are rounded up. Returns
 * the text of the error otherwise. `unit` is a result of `unitAt`.
 */
export function toBaseUnits(value: unknown, unit: string): number | string {
  return baseUnitsOf(unit)(value)
}

/** Returns the conversion function of a unit. */
export function baseUnitsOf(unit: string): (value: unknown) => number | string {
  if (unit === 'hhmmss') return fromClock
  if (unit === UNIT_VALUE) return microsOfUnitValue
  const factor = FACTOR.get(unit) ?? 1
  return (value) => multiplied(value, factor)
}

function multiplied(value: unknown, factor: number): number | string {
  const whole = typeof value === 'string' ? digitsOf(value) : value
  if (typeof whole === 'number' && Number.isSafeInteger(whole) && whole >= 0) {
    const units = whole * factor
    return Number.isSafeInteger(units) ? units + 0 : TOO_LARGE
  }
  return fromDecimal(value, BigInt(factor))
}

/** The number of a text of at most 15 digits; -1 for other texts. */
function digitsOf(text: string): number {
  if (text.length === 0 || text.length > 15) return -1
  let number = 0
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return -1
    number = number * 10 + digit
  }
  return number
}

function fromDecimal(value: unknown, factor: bigint): number | string {
  const isScalar = typeof value === 'number' || typeof value === 'string'
  if (!isScalar || String(value).length > CHARS_MAX) return NOT_A_NUMBER
  const decimal = exactDecimal(String(value).trim())
  if (decimal === null) return NOT_A_NUMBER
  if (decimal.digits < 0n) return 'must not be negative'
  const product = decimal.digits * factor
  const under = 10n ** BigInt(decimal.scale)
  const excess = product % under
  const isExact =
    excess === 0n || (hasNoise(value, decimal) && isNoise(value, excess, product, under))
  const units = Number(isExact ? product / under : product / under + 1n)
  return Number.isSafeInteger(units) ? units : TOO_LARGE
}

/**
 * Whether `excess` over a whole number of base units is within the precision of a double, so that
 * 3 × 0.1 megabytes are 300,000 bytes. A text may have been meant as it is: it must be closer.
 */
function isNoise(value: unknown, excess: bigint, product: bigint, under: bigint): boolean {
  const limit = typeof value === 'number' ? under / 2n : under / 1_000_000n
  return excess < limit && excess * 10n ** BigInt(DOUBLE_DIGITS) < product
}

const CLOCK = /^\d{1,11}:[0-5]\d:[0-5]\d$/
const NOT_A_CLOCK = 'must be hours, minutes and seconds as HHMMSS or HH:MM:SS'

/** Digits without colons are right-aligned: `130` is a minute and a half. */
function fromClock(value: unknown): number | string {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || text === '' || text.length > CHARS_MAX) return NOT_A_CLOCK
  const digits = CLOCK.test(text) ? text.replaceAll(':', '') : text
  if (digitsOf(digits) < 0) return NOT_A_CLOCK
  const padded = digits.padStart(6, '0')
  const [minutes, seconds] = [Number(padded.slice(-4, -2)), Number(padded.slice(-2))]
  if (minutes > 59 || seconds > 59) return NOT_A_CLOCK
  return Number(padded.slice(0, -4)) * 3600 + minutes * 60 + seconds
}

/** Decimals of an amount; the remainder is less than a base unit. */
const DECIMALS_MAX = 15
const SCALE = 10n ** BigInt(DECIMALS_MAX)

/**
 * Converts base units to decimal text in the unit, with at most 15 decimals, rounded down so that
 * no more is used than was granted; `toBaseUnits` returns the original number.
 */
export function fromBaseUnits(units: number, unit: string): string {
  if (unit === 'hhmmss') return toClock(units)
  const factor = FACTOR.get(unit) ?? 1
  if (units % factor === 0) return String(units / factor)
  const scaled = (BigInt(units) * SCALE) / BigInt(factor)
  const decimals = String(scaled % SCALE).padStart(DECIMALS_MAX, '0')
  return `${scaled / SCALE}.${decimals.replace(/0+$/, '')}`
}

function toClock(units: number): string {
  const two = (number: number) => String(number).padStart(2, '0')
  const minutes = Math.floor(units / 60)
  return `${two(Math.floor(minutes / 60))}${two(minutes % 60)}${two(units % 60)}`
}
