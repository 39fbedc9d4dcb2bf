/**
 * Money in Diameter (RFC 8506 sections 8.8 to 8.22): `Unit-Value` is `Value-Digits` times ten to
 * the power of `Exponent`, in units of the currency.
 */
import { isObject } from '../domain/fields.ts'
import { MICROS_DIGITS } from '../domain/money.ts'

export const UNIT_VALUE = 'unit_value'

const DIGITS = 'Value-Digits'
const EXPONENT = 'Exponent'
const WHOLE = /^[+-]?\d{1,19}$/
const NOT_AN_AMOUNT = `must have ${DIGITS}, a whole number, and perhaps ${EXPONENT}`
const NEGATIVE = 'must not be negative'
const TOO_FINE = 'must be whole micros: at most 6 decimals'
export const TOO_MANY_MICROS = 'is more than 2^53 - 1 micros'
/** Beyond this exponent the amount is below one micro or too large. */
const SHIFT_MAX = 20

/**
 * Exact micros of a `Unit-Value` record, or of a record that contains one (CC-Money); otherwise the
 * text of the error.
 */
export function microsOfUnitValue(value: unknown): number | string {
  const nested = isObject(value) ? value['Unit-Value'] : undefined
  const amount = nested ?? value
  if (!isObject(amount)) return NOT_AN_AMOUNT
  const digits = wholeOf(amount[DIGITS])
  const exponent = wholeOf(amount[EXPONENT] ?? 0)
  if (digits === null || exponent === null) return NOT_AN_AMOUNT
  if (digits < 0n) return NEGATIVE
  if (digits === 0n) return 0
  const shift = Number(exponent) + MICROS_DIGITS
  if (shift > SHIFT_MAX) return TOO_MANY_MICROS
  if (shift < -SHIFT_MAX) return TOO_FINE
  return shift < 0 ? divided(digits, 10n ** BigInt(-shift)) : counted(digits * 10n ** BigInt(shift))
}

/** A safe integer, or the text of an integer of up to 19 digits. */
function wholeOf(value: unknown): bigint | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : null
  return typeof value === 'string' && WHOLE.test(value) ? BigInt(value) : null
}

function divided(digits: bigint, divisor: bigint): number | string {
  return digits % divisor === 0n ? counted(digits / divisor) : TOO_FINE
}

function counted(micros: bigint): number | string {
  const number = Number(micros)
  return Number.isSafeInteger(number) ? number : TOO_MANY_MICROS
}
