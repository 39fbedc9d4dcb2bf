/**
 * Lines that a run of another system wrote, for the first run here: charges of plans and services,
 * discounts and conditional charges. Pure.
 */
import { createHash } from 'node:crypto'
import { isCycleKey } from '../../../domain/cycle.ts'
import {
  arrayAt,
  FieldError,
  type Fields,
  isObject,
  isUnset,
  objectAt,
  textAt,
  wholeAt,
} from '../../../domain/fields.ts'
import { parseInstant } from '../../../domain/time.ts'
import { roundingAt } from '../../compile/rounding.ts'
import type { CycleRounding } from './cycle-line.ts'
import { Exact } from './exact-amount.ts'

/** Kept of an imported line; its other fields are ignored. */
export interface ImportedLine {
  readonly stamp: string
  readonly source: 'billrun'
  readonly imported: true
  /** Key of the cycle whose run wrote it. */
  readonly billrun: string
  readonly aid: number
  readonly sid: number
  readonly [field: string]: unknown
}

const DECIMAL = /^-?\d{1,15}(\.\d{1,20})?$/
const AMOUNT_DIGITS = 20
const TEXTS = ['name', 'plan', 'key', 'description', 'arate_key', 'eligible_line', 'discount_type']
const DATES = ['start', 'end', 'discount_start', 'discount_end', 'urt']
const OPERATIONS = ['charge', 'refund']

/** `zone`: of dates without one. Throws `FieldError`. */
export function importedLine(document: unknown, zone: string): ImportedLine {
  const line = objectAt(document, '')
  const kind = kindOf(line)
  const amount = decimalAt(line['aprice'], 'aprice')
  const kept: Record<string, unknown> = {
    ...kind,
    aid: wholeAt(plain(line['aid']), 'aid', 1),
    sid: wholeAt(plain(line['sid'] ?? 0), 'sid', 0),
    billrun: keyAt(line['billrun'], 'billrun'),
    aprice: Number(amount),
    is_upfront: flagAt(line['is_upfront'], 'is_upfront'),
    charge_op: isUnset(line['charge_op']) ? 'charge' : line['charge_op'],
  }
  if (!OPERATIONS.includes(String(kept['charge_op']))) {
    throw new FieldError('charge_op', 'must be charge or refund')
  }
  for (const name of TEXTS) if (!isUnset(line[name])) kept[name] = textAt(line[name], name)
  for (const name of DATES) {
    if (!isUnset(line[name])) kept[name] = dateFrom(line[name], name, zone)
  }
  if (!isUnset(line['charged_billrun'])) {
    kept['charged_billrun'] = keyAt(line['charged_billrun'], 'charged_billrun')
  }
  for (const name of ['full_price', 'usagev']) {
    if (!isUnset(line[name])) kept[name] = Number(decimalAt(line[name], name))
  }
  if (!isUnset(line['service_id'])) kept['service_id'] = String(plain(line['service_id']))
  const tier = tierOf(line['cycle'])
  if (tier !== null) kept['cycle'] = tier
  const taxes = taxesOf(line['tax_data'])
  if (taxes !== null) kept['tax_data'] = { taxes }
  const exact = exactAmountOf(line['before_rounding'])
  const rounding = roundingOf(line['rounding_rules'], exact ?? amount)
  if (rounding !== null) kept['rounding_rules'] = rounding
  if (exact === null && isRoundedAfterTax(rounding)) {
    throw new FieldError('before_rounding.aprice', 'is missing', 'missing')
  }
  kept['charge_amount'] = withoutTaxes(exact ?? amount, taxes ?? [])
  checkNamed(kept)
  checkPeriod(kept)
  const stamp = isUnset(line['stamp']) ? stampOf(kept) : textAt(line['stamp'], 'stamp')
  return { ...kept, stamp, source: 'billrun', imported: true } as unknown as ImportedLine
}

function kindOf({ type, usaget }: Fields): Fields {
  if (type === 'flat' || type === 'service') return { type, usaget: type }
  const isAdjustment = usaget === 'discount' || usaget === 'conditional_charge'
  if (type === 'credit' && isAdjustment) return { type, usaget }
  if (type !== 'credit') throw new FieldError('type', 'must be flat, service or credit')
  throw new FieldError('usaget', 'must be discount or conditional_charge')
}

/** A charge is found again by its plan or service, a discount by its key. */
function checkNamed({ type, name, plan, key, arate_key: rateKey }: Fields): void {
  if (type === 'credit') {
    if (key === undefined && rateKey === undefined)
      throw new FieldError('key', 'is missing', 'missing')
  } else if (name === undefined && (type === 'service' || plan === undefined)) {
    throw new FieldError('name', 'is missing', 'missing')
  }
}

function checkPeriod({ start, end, discount_start: from, discount_end: to }: Fields): void {
  for (const [one, other, path] of [
    [start, end, 'end'],
    [from, to, 'discount_end'],
  ] as const) {
    if (one instanceof Date && other instanceof Date && one >= other) {
      throw new FieldError(path, 'must be after the start')
    }
  }
}

/** Begin of the price tier, alone or in an object. */
function tierOf(value: unknown): Fields | null {
  const from = isObject(value) && 'from' in value ? value['from'] : value
  return isUnset(from) ? null : { from: Number(decimalAt(from, 'cycle')) }
}

/** The taxes as far as a correction of the line needs them; null if it has only their sum. */
function taxesOf(value: unknown): Fields[] | null {
  if (isUnset(value)) return null
  const { taxes } = objectAt(value, 'tax_data')
  if (isUnset(taxes)) return null
  return arrayAt(taxes, 'tax_data.taxes').map((entry, index) => {
    const at = `tax_data.taxes.${index}`
    const { key, description, type, tax, embedded_amount: embedded } = objectAt(entry, at)
    const name = textAt(key, `${at}.key`)
    return {
      key: name,
      description: isUnset(description) ? name : textAt(description, `${at}.description`),
      type: isUnset(type) ? 'vat' : textAt(type, `${at}.type`),
      tax: Number(decimalAt(tax, `${at}.tax`)),
      ...(!isUnset(embedded) && {
        embedded_amount: Number(decimalAt(embedded, `${at}.embedded_amount`)),
      }),
    }
  })
}

/**
 * The rounding of a line by its absolute amount before rounding; other systems round the signed
 * number, and have the rules for that. Null if it is not known.
 */
function roundingOf(value: unknown, amount: string): CycleRounding | null {
  if (isUnset(value)) return null
  const given = objectAt(value, 'rounding_rules')
  const rules = roundingAt(
    { ...given, rounding_decimals: plain(given['rounding_decimals']) },
    'rounding_rules',
  )
  if (rules === null) return { rounding_type: 'None' }
  const { mode, decimals, stage } = rules
  const mirrored = { up: 'down', down: 'up', nearest: 'nearest' } as const
  return {
    rounding_type: amount.startsWith('-') ? mirrored[mode] : mode,
    rounding_decimals: decimals,
    rounding_stage: stage,
  }
}

/** The amount before rounding, null without one. */
function exactAmountOf(value: unknown): string | null {
  const { aprice } = isUnset(value) ? {} : objectAt(value, 'before_rounding')
  return isUnset(aprice) ? null : decimalAt(aprice, 'before_rounding.aprice')
}

/**
 * Whether the price was scaled to a rounded final charge: then it is not exact, and to round its
 * charge again may give another one.
 */
function isRoundedAfterTax(rounding: CycleRounding | null): boolean {
  return rounding?.rounding_stage === 'after_tax'
}

/** The amount before taxes: `aprice` includes embedded ones. */
function withoutTaxes(amount: string, taxes: readonly Fields[]): string {
  const embedded = taxes.filter((tax) => 'embedded_amount' in tax)
  if (embedded.length === 0) return amount
  const rate = embedded.reduce((sum, { tax }) => sum.plus(Number(tax)), new Exact(1))
  return new Exact(amount).div(rate).toDecimalPlaces(AMOUNT_DIGITS).toString()
}

/** Numbers as `mongoexport` writes them, such as `{ "$numberLong": "5" }`. */
function plain(value: unknown): unknown {
  if (!isObject(value)) return value
  const name = Object.keys(value).find((key) => key.startsWith('$number'))
  return name === undefined ? value : value[name]
}

function decimalAt(value: unknown, path: string): string {
  if (isUnset(value)) throw new FieldError(path, 'is missing', 'missing')
  const text = String(plain(value))
  if (DECIMAL.test(text)) return text
  // Small doubles are written with an exponent.
  const number = typeof plain(value) === 'number' ? Number(text) : Number.NaN
  if (!Number.isFinite(number)) throw new FieldError(path, 'must be a number')
  return decimalAt(number.toFixed(12), path)
}

function keyAt(value: unknown, path: string): string {
  const text = String(plain(value) ?? '')
  if (isCycleKey(text)) return text
  if (isUnset(value)) throw new FieldError(path, 'is missing', 'missing')
  throw new FieldError(path, 'must be a cycle such as 202611')
}

function flagAt(value: unknown, path: string): boolean {
  if (isUnset(value)) return false
  if (typeof value === 'boolean') return value
  throw new FieldError(path, 'must be true or false')
}

/** A text, or `{ "$date": … }` with a text or the milliseconds since 1970. */
function dateFrom(value: unknown, path: string, zone: string): Date {
  const plainValue = isObject(value) && '$date' in value ? plain(value['$date']) : value
  const isNumber =
    typeof plainValue === 'number' || (plainValue !== value && /^-?\d+$/.test(String(plainValue)))
  const atMs = isNumber ? Number(plainValue) : parseInstant(String(plainValue), zone)
  if (atMs !== null && Number.isSafeInteger(atMs)) return new Date(atMs)
  throw new FieldError(path, 'must be a date')
}

/** The same line has the same stamp, so that a repeated import does not double it. */
function stampOf(line: Fields): string {
  return createHash('sha256').update(JSON.stringify(line)).digest('hex').slice(0, 32)
}
