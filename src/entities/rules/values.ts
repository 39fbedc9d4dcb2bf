/** Readers of requested and stored values for rules: invalid values become an `EntityRuleError`. */
import { decimalOf, FieldError, type Fields, isUnset } from '../../domain/fields.ts'
import type { ExactDecimal } from '../../domain/money.ts'
import { type DisplayCode, EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { DATES, dateOf } from '../../requests/instant.ts'
import { isEqual } from '../timeline/set-fields.ts'
import type { RuleContext } from './rule.ts'

/** Calls a reader of domain/fields.ts. Throws `EntityRuleError` with its text. */
export function asRule<T>(read: () => T, code?: DisplayCode): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof FieldError) throw new EntityRuleError(error.message, error.issues, code)
    throw error
  }
}

/**
 * True if a rule for these fields has to be checked: values that were stored before the rule
 * existed must not prevent changes of other fields.
 */
export function isChanged(document: Fields, stored: Fields | null, ...names: string[]): boolean {
  return stored === null || names.some((name) => !isEqual(document[name], stored[name]))
}

/** Epoch ms of a date that is stored or in any format of requests; null if it is not set. */
export function instantAt(
  value: unknown,
  path: string,
  { zone, nowMs }: Pick<RuleContext, 'zone' | 'nowMs'>,
): number | null {
  if (isUnset(value)) return null
  const date = value instanceof Date ? value : dateOf(value, { timeZone: zone, nowMs })
  if (date === null || Number.isNaN(date.getTime())) throw fieldRule(path, `must be ${DATES}`)
  return date.getTime()
}

/** Negative, zero or positive if a is less than, equal to or greater than b. */
export function compareDecimals(a: ExactDecimal, b: ExactDecimal): number {
  const difference = a.digits * 10n ** BigInt(b.scale) - b.digits * 10n ** BigInt(a.scale)
  return difference === 0n ? 0 : difference < 0n ? -1 : 1
}

const ZERO: ExactDecimal = { digits: 0n, scale: 0 }
const ONE: ExactDecimal = { digits: 1n, scale: 0 }

/** True if it is from 0 to 1. */
export function isFraction(value: unknown): boolean {
  const decimal = decimalOf(value)
  if (decimal === null) return false
  return compareDecimals(decimal, ZERO) >= 0 && compareDecimals(decimal, ONE) <= 0
}

export function isPositive(value: unknown): boolean {
  const decimal = decimalOf(value)
  return decimal !== null && decimal.digits > 0n
}

/** An empty object if the value is not an object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/** An empty list if the value is not a list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
