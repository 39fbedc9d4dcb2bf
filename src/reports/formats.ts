/** Formats of the values of a column, applied in their order. */
import { Decimal } from 'decimal.js'
import { currencyDigits, currencyName } from '../billing/currency.ts'
import { type BillingCalendar, keyEndMs, keyStartMs } from '../billing/cycle/cycle-key.ts'
import { Exact } from '../catalog/records/money/exact-amount.ts'
import { isCycleKey } from '../domain/cycle.ts'
import { isUnset } from '../domain/fields.ts'
import { amountOf } from '../requests/cast-value.ts'
import { fieldRule } from '../requests/errors.ts'
import { relativeInstant } from '../requests/instant.ts'
import { compileDateText, type DateFormat, datePartsAt } from './date-text.ts'
import { jsonText, plainText } from './row-values.ts'

export interface FormatContext {
  readonly timeZone: string
  readonly calendar: BillingCalendar
  /** ISO 4217 number. */
  readonly currencyCode: number
  /** Rate of the default tax, a fraction, or null. */
  readonly taxRate: Exact | null
}

type Format = (value: unknown, context: FormatContext) => unknown

export interface ColumnFormat {
  readonly apply: Format
  /** The format of a date as text, by which grouped reports group; null for other formats. */
  readonly date: DateFormat | null
  readonly needsTax: boolean
}

export const FORMAT_OPS = [
  'date_override',
  'billing_cycle',
  'date_format',
  'time_format',
  'datetime_format',
  'vat_format',
  'currency_format',
  'multiplication',
  'json',
  'rename_true',
  'rename_false',
  'default_empty',
] as const
type FormatOp = (typeof FORMAT_OPS)[number]

/** Throws `EntityRuleError`. */
export function compileFormat(op: unknown, value: unknown, where: string): ColumnFormat {
  const known = FORMAT_OPS.find((each) => each === op)
  if (known === undefined) {
    throw fieldRule(`${where}.op`, `must be one of ${FORMAT_OPS.join(', ')}`)
  }
  const at = `${where}.value`
  if (known === 'date_format' || known === 'time_format' || known === 'datetime_format') {
    const date = compileDateText(typeof value === 'string' ? value : '', at)
    return { apply: dateFormat(date), date, needsTax: false }
  }
  const apply = COMPILERS[known](value, at)
  return { apply, date: null, needsTax: known === 'vat_format' }
}

type PlainOp = Exclude<FormatOp, 'date_format' | 'time_format' | 'datetime_format'>

const COMPILERS: Readonly<Record<PlainOp, (value: unknown, where: string) => Format>> = {
  date_override: dateOverride,
  billing_cycle: billingCycle,
  vat_format: vatFormat,
  currency_format: currencyFormat,
  multiplication,
  json: () => (value) => (isUnset(value) ? value : jsonText(value)),
  rename_true: (value, where) => renamed(true, textAt(value, where)),
  rename_false: (value, where) => renamed(false, textAt(value, where)),
  default_empty: (value, where) => {
    const text = textAt(value, where)
    return (given) => (isUnset(given) ? text : given)
  },
}

const TEXT_LENGTH_MAX = 200

function textAt(value: unknown, where: string): string {
  const isText = typeof value === 'string' || typeof value === 'number'
  const text = isText ? String(value) : ''
  if (isText && text.length <= TEXT_LENGTH_MAX) return text
  throw fieldRule(where, `must be a text of at most ${TEXT_LENGTH_MAX} characters`)
}

function oneOf<T extends string>(value: unknown, options: readonly T[], where: string): T {
  const found = options.find((option) => option === value)
  if (found !== undefined) return found
  throw fieldRule(where, `must be one of ${options.join(', ')}`)
}

function dateFormat(format: DateFormat): Format {
  return (value, { timeZone }) => {
    return value instanceof Date ? format.write(datePartsAt(value.getTime(), timeZone)) : value
  }
}

/** Any instant will do to try a text such as `+1 month`. */
const SOME_MS = Date.UTC(2026, 0, 15)

function dateOverride(value: unknown, where: string): Format {
  const text = textAt(value, where)
  if (relativeInstant(text, 'UTC', SOME_MS) === null) {
    throw fieldRule(where, `must be words such as 'midnight' or '+1 month'`)
  }
  return (given, { timeZone }) => {
    if (!(given instanceof Date)) return given
    const atMs = relativeInstant(text, timeZone, given.getTime())
    return atMs === null ? given : new Date(atMs)
  }
}

/** The key of a cycle as its first or last day. */
function billingCycle(value: unknown, where: string): Format {
  const edge = oneOf(value, ['start', 'end'], where)
  return (given, { calendar }) => {
    if (typeof given !== 'string' || !isCycleKey(given)) return given
    return new Date(
      edge === 'start' ? keyStartMs(given, calendar) : keyEndMs(given, calendar) - 1000,
    )
  }
}

/** The value as an exact number; null if it is not a number. */
function exactOf(value: unknown): Exact | null {
  if (typeof value === 'boolean' || value instanceof Date || isUnset(value)) return null
  if (typeof value === 'object' && !isNumberObject(value as object)) return null
  const amount = amountOf(typeof value === 'number' ? value : plainText(value))
  return amount === null ? null : new Exact(amount)
}

function isNumberObject(value: object): boolean {
  return Decimal.isDecimal(value) || '_bsontype' in value
}

/** Decimals of an amount without tax, which may be infinitely many. */
const WITHOUT_TAX_DECIMALS = 6

function vatFormat(value: unknown, where: string): Format {
  const op = oneOf(value, ['add_tax', 'remove_tax'], where)
  return (given, { taxRate }) => {
    const amount = exactOf(given)
    if (amount === null || taxRate === null) return given
    const factor = taxRate.plus(1)
    if (op === 'add_tax') return amount.times(factor)
    return amount.div(factor).toDecimalPlaces(WITHOUT_TAX_DECIMALS)
  }
}

function currencyFormat(value: unknown, where: string): Format {
  const form = isUnset(value) ? 'code' : oneOf(value, ['code', 'symbol'], where)
  return (given, { currencyCode }) => {
    const amount = exactOf(given)
    if (amount === null) return given
    const text = amount.toFixed(currencyDigits(currencyCode))
    const name = currencyName(currencyCode)
    if (name === null) return text
    return form === 'code' ? `${text} ${name}` : `${symbolOf(name)}${text}`
  }
}

function symbolOf(name: string): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: name })
  return format.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? name
}

function multiplication(value: unknown, where: string): Format {
  const factor = amountOf(value)
  if (factor === null) throw fieldRule(where, 'must be a number')
  return (given) => exactOf(given)?.times(factor) ?? given
}

function renamed(flag: boolean, text: string): Format {
  return (value) => (value === flag ? text : value)
}
