/** Casts one value to the type of its parameter. */
import { Decimal } from 'decimal.js'
import { ObjectId } from '../catalog/collections.ts'
import { isEmail } from '../domain/email.ts'
import type { Fields } from '../domain/fields.ts'
import { parseDecimal, toScale } from '../domain/money.ts'
import { DATES, dateOf, type TimeContext } from './instant.ts'
import { hasExactDigits } from './json-limits.ts'
import { KEY_PATTERN } from './names.ts'
import type { Param } from './param.ts'
import type { FieldProblems } from './problems.ts'

/** Context of a cast; errors are added to `problems`. */
export interface CastContext extends TimeContext {
  readonly problems: FieldProblems
}

/** Types of single values, as opposed to lists and objects. */
export type ScalarType = 'string' | 'integer' | 'number' | 'boolean' | 'datetime' | 'dbid' | 'email'

/** Amounts are never longer, and parsing takes time. */
const NUMBER_LENGTH_MAX = 64

const TRUE: readonly unknown[] = [true, 1, 'true', '1', 'yes', 'on']
const FALSE: readonly unknown[] = [false, 0, 'false', '0', 'no', 'off']

const SCALARS: Readonly<
  Record<ScalarType, readonly [(value: unknown, time: TimeContext) => unknown, string]>
> = {
  string: [textOf, 'a text'],
  integer: [integerOf, 'an integer up to 2^53'],
  number: [numberOf, 'a number'],
  boolean: [booleanOf, 'true or false'],
  datetime: [dateOf, DATES],
  dbid: [idOf, 'an id of 24 hexadecimal digits'],
  email: [emailOf, 'an email address'],
}

/** The value as this type; otherwise adds a problem and returns `undefined`. */
export function castScalar(
  type: ScalarType,
  value: unknown,
  path: string,
  casting: CastContext,
): unknown {
  const [read, expected] = SCALARS[type]
  const result = read(value, casting)
  if (result !== null) return result
  casting.problems.invalid(path, `must be ${expected}`)
  return undefined
}

/** The scalar type of a parameter or of its members; null if it has none. */
export function scalarOf(param: Param): ScalarType | null {
  switch (param.type) {
    case 'float':
      return 'number'
    case 'datetimearray':
      return 'datetime'
    case 'array':
      return param.of ?? null
    case 'json':
    case 'generated':
      return null
    default:
      return param.type
  }
}

/** Checks the pattern and the options of a parameter. */
export function checkText(
  param: Param,
  value: unknown,
  path: string,
  problems: FieldProblems,
): void {
  if (param.pattern === 'key' && !(typeof value === 'string' && KEY_PATTERN.test(value))) {
    problems.rule(path, 'must be of capital letters, digits and _')
  }
  if (param.pattern === 'path' && !(typeof value === 'string' && /^[^$.][^.]*$/.test(value))) {
    problems.rule(path, 'must not begin with $, and have no dots')
  }
  if (param.options !== undefined && !param.options.some((option) => option === value)) {
    problems.invalid(path, `must be one of ${param.options.join(', ')}`)
  }
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

/** Exact, also for texts; `5.0` is 5. */
export function integerOf(value: unknown): number | null {
  const decimal = decimalOf(value)
  const whole = decimal === null ? null : toScale(decimal, 0)
  // Turns -0 into 0.
  return whole === 0 ? 0 : whole
}

function numberOf(value: unknown): number | null {
  if (decimalOf(value) === null) return null
  if (typeof value === 'string' && !hasExactDigits(value.trim())) return null
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

/** An exact decimal, or null. */
export function amountOf(value: unknown): Decimal | null {
  const decimal = decimalOf(value)
  return decimal === null ? null : new Decimal(`${decimal.digits}e-${decimal.scale}`)
}

function decimalOf(value: unknown) {
  if (typeof value === 'number') return parseDecimal(value)
  if (typeof value !== 'string' || value.length > NUMBER_LENGTH_MAX) return null
  return parseDecimal(value)
}

export function booleanOf(value: unknown): boolean | null {
  if (TRUE.includes(value)) return true
  return FALSE.includes(value) ? false : null
}

/** A text, or `{"$id": hex}` as in responses. */
function idOf(value: unknown): ObjectId | null {
  const hex = typeof value === 'object' && value !== null ? onlyId(value as Fields) : value
  if (typeof hex !== 'string' || !/^[\da-f]{24}$/i.test(hex)) return null
  return new ObjectId(hex)
}

function onlyId(value: Fields): unknown {
  return Object.keys(value).join() === '$id' ? value['$id'] : undefined
}

function emailOf(value: unknown): string | null {
  return typeof value === 'string' && isEmail(value) ? value : null
}
