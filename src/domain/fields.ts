/**
 * Readers of untyped parts of a document. Each returns the value or throws `FieldError` with its
 * path.
 */
import { FieldError, readEach, throwIssues } from './field-errors.ts'
import {
  type ExactDecimal,
  MICROS_DIGITS,
  PRICE_DIGITS_MAX,
  parseDecimal,
  toScale,
} from './money.ts'
import type { Numbering } from './numbering.ts'

export { FieldError } from './field-errors.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A field that the operator has added to accounts or subscribers. */
export interface CustomField {
  /** May be dotted. */
  readonly name: string
  readonly isMandatory: boolean
  /** Whether its texts are dates. */
  readonly isDate: boolean
  /** Form of its numbers; by default that of the built-in field. */
  readonly numbering?: Numbering
  /** Kinds of subscribers that have it; empty: all. */
  readonly plays: readonly string[]
}

const WEB_ADDRESS = /^https?:\/\/[^\s/@?#]+(?:[/?#]\S*)?$/
/** For messages about `isWebAddress`: a password in an address would be shown with it. */
export const WEB_ADDRESS_FORM =
  'an address that begins with http:// or https://, without user and password'

export function isWebAddress(text: string): boolean {
  return WEB_ADDRESS.test(text) && URL.canParse(text)
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object. With `known`, other keys are rejected: ignoring a key could mean a wrong price. */
export function objectAt(value: unknown, path: string, known?: readonly string[]): Fields {
  if (!isObject(value)) {
    if (value === undefined) throw new FieldError(path, 'is missing', 'missing')
    throw new FieldError(path, 'must be an object')
  }
  if (known !== undefined) checkKnownKeys(value, path, known)
  return value
}

/**
 * The entries of an object that may be absent or empty; PHP clients write an empty one as a list.
 */
export function entriesAt(value: unknown, path: string): [string, unknown][] {
  return isEmpty(value) ? [] : Object.entries(objectAt(value, path))
}

export function arrayAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) {
    if (value === undefined) throw new FieldError(path, 'is missing', 'missing')
    throw new FieldError(path, 'must be a list')
  }
  return value
}

/** A list of non-empty texts; empty if the value is absent or an empty object. */
export function textsAt(value: unknown, path: string): readonly string[] {
  if (isEmpty(value)) return []
  return readEach(arrayAt(value, path), (entry, index) => textAt(entry, `${path}.${index}`))
}

export function textAt(value: unknown, path: string): string {
  if (value === undefined) throw new FieldError(path, 'is missing', 'missing')
  if (typeof value !== 'string' || value === '') {
    throw new FieldError(path, 'must be a text that is not empty')
  }
  return value
}

/** One of `options`. */
export function oneOfAt<T extends string>(value: unknown, path: string, options: readonly T[]): T {
  const found = options.find((option) => option === value)
  if (found !== undefined) return found
  const text = typeof value === 'string' ? `'${shortened(value)}'` : typeof value
  throw new FieldError(path, `must be one of ${options.join(', ')}, is ${text}`)
}

/** One of `options`; the first if the value is absent or empty. */
export function choiceAt<T extends string>(value: unknown, path: string, options: readonly T[]): T {
  return isUnset(value) ? (options[0] as T) : oneOfAt(value, path, options)
}

/** `ifAbsent` if the value is absent. */
export function booleanAt(value: unknown, path: string, ifAbsent: boolean): boolean {
  if (value === undefined || value === null) return ifAbsent
  if (typeof value !== 'boolean') throw new FieldError(path, 'must be true or false')
  return value
}

/** Epoch ms; null if it is absent. */
export function dateAt(value: unknown, path: string): number | null {
  if (value === undefined || value === null) return null
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.getTime()
  throw new FieldError(path, 'must be a date')
}

/** An integer of at least `least`, or its decimal text. */
export function wholeAt(value: unknown, path: string, least: number): number {
  if (value === undefined) throw new FieldError(path, 'is missing', 'missing')
  const decimal = decimalOf(value)
  const whole = decimal === null ? null : toScale(decimal, 0)
  if (whole === null || whole < least) {
    throw new FieldError(path, `must be an integer from ${least} to 2^53`)
  }
  return whole
}

/** Text of a number that other programs may read as an octal one. */
const LEADING_ZEROS = /^\s*[+-]?0\d/

/** A non-negative amount: a number or decimal text without leading zeros, read exactly. */
export function amountAt(value: unknown, path: string): ExactDecimal {
  if (value === undefined) throw new FieldError(path, 'is missing', 'missing')
  const decimal = decimalOf(value)
  if (decimal === null) throw new FieldError(path, 'must be a number or decimal text')
  if (typeof value === 'string' && LEADING_ZEROS.test(value)) {
    throw new FieldError(path, `must not have leading zeros, is '${shortened(value)}'`)
  }
  if (decimal.digits < 0n) throw new FieldError(path, `must not be negative, is ${value}`)
  atMostDecimals(value, decimal, path, PRICE_DIGITS_MAX)
  return decimal
}

/** Throws `FieldError` if there are more decimals; the text contains the value. */
export function atMostDecimals(
  value: unknown,
  { scale }: ExactDecimal,
  path: string,
  max: number,
): void {
  if (scale <= max) return
  throw new FieldError(path, `has more than ${max} decimals: ${shortened(value)}`)
}

const SHOWN_CHARACTERS_MAX = 40

/** The value for error texts, truncated if it is long. */
export function shortened(value: unknown): string {
  const text = String(value)
  if (text.length <= SHOWN_CHARACTERS_MAX) return text
  return `${text.slice(0, SHOWN_CHARACTERS_MAX)}…`
}

/** Money in micros. */
export function microsAt(value: unknown, path: string): number {
  const micros = toScale(amountAt(value, path), MICROS_DIGITS)
  if (micros !== null) return micros
  const why = 'must have at most 6 decimals and be below 2^53 micros'
  throw new FieldError(path, `${why}, is ${shortened(value)}`)
}

/**
 * Reads a JSON number, a decimal text, or a number of the store (`Decimal128`); null for any
 * other value.
 */
export function decimalOf(value: unknown): ExactDecimal | null {
  if (typeof value === 'number' || typeof value === 'string') return parseDecimal(value)
  return isStoredNumber(value) ? parseDecimal(String(value)) : null
}

const STORED_NUMBERS: readonly unknown[] = ['Decimal128', 'Long']

function isStoredNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('_bsontype' in value)) return false
  return STORED_NUMBERS.includes(value._bsontype)
}

/** Rejects unknown keys, such as a misspelt price that would be ignored. */
export function checkKnownKeys(fields: Fields, path: string, known: readonly string[]): void {
  const unknown = Object.keys(fields).filter((key) => !known.includes(key))
  throwIssues(
    unknown.map((key) => ({ path: `${path}.${key}`, reason: 'is not known', code: 'unknown' })),
  )
}

/** Absent, or empty like a cleared field of a form. */
export function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** Absent, or an empty object; PHP clients write that as an empty list. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && !(value instanceof Date) && Object.keys(value).length === 0
}
