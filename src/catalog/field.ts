/**
 * Reading untyped parts of a document: each answers the value or throws `CompileError` with its
 * path.
 */
import { type ExactDecimal, parseDecimal } from '../domain/money.ts'
import { CompileError } from './errors.ts'

export type Fields = Readonly<Record<string, unknown>>

export function objectAt(value: unknown, path: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CompileError(path, value === undefined ? 'is missing' : 'must be an object')
  }
  return value as Fields
}

export function arrayAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw new CompileError(path, value === undefined ? 'is missing' : 'must be a list')
  }
  return value
}

/** An amount that is not negative: a number or decimal text, exact. */
export function amountAt(value: unknown, path: string): ExactDecimal {
  if (value === undefined) throw new CompileError(path, 'is missing')
  const decimal =
    typeof value === 'number' || typeof value === 'string' ? parseDecimal(value) : null
  if (decimal === null) throw new CompileError(path, 'must be a number or decimal text')
  if (decimal.digits < 0n) throw new CompileError(path, `must not be negative, is ${value}`)
  return decimal
}

/**
 * Refuses keys that nothing reads: they would be a price that somebody meant and nobody applies.
 */
export function knownKeys(fields: Fields, path: string, known: readonly string[]): void {
  for (const key of Object.keys(fields)) {
    if (!known.includes(key)) throw new CompileError(`${path}.${key}`, 'is not known')
  }
}

/** Refuses a field that would change the price or the payment, but has no effect yet. */
export function unsupported(value: unknown, path: string): void {
  if (!isEmpty(value)) throw new CompileError(path, 'is not supported yet')
}

/** Absent, or an empty object; PHP clients write that as an empty list. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
