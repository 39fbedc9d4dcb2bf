/**
 * Lines that a run of another system wrote, for the first run here: charges of plans and services,
 * discounts and conditional charges. Pure.
 */
import { createHash } from 'node:crypto'
import { isCycleKey } from '../../domain/cycle.ts'
import {
  arrayAt,
  FieldError,
  type Fields,
  isObject,
  isUnset,
  objectAt,
  textAt,
  wholeAt,
} from '../../domain/fields.ts'
import { parseInstant } from '../../domain/time.ts'

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
const TEXTS = ['name', 'plan', 'key', 'description', 'arate_key', 'eligible_line', 'discount_type']
const DATES = ['start', 'end', 'discount_start', 'discount_end', 'urt']
const OPERATIONS = ['charge', 'refund']

/** `zone`: of dates without one. Throws `FieldError`. */
export function importedLine(given: unknown, zone: string): ImportedLine {
  const line = objectAt(given, '')
  const kind = kindOf(line)
  const amount = decimalAt(line['aprice'], 'aprice')
  const kept: Record<string, unknown> = {
    ...kind,
    aid: wholeAt(plain(line['aid']), 'aid', 1),
    sid: wholeAt(plain(line['sid'] ?? 0), 'sid', 0),
    billrun: keyAt(line['billrun'], 'billrun'),
    aprice: Number(amount),
    charge_amount: amount,
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
    if (key === undefined && rateKey === undefined) throw new FieldError('key', 'is missing')
  } else if (name === undefined && (type === 'service' || plan === undefined)) {
    throw new FieldError('name', 'is missing')
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

/** Numbers as `mongoexport` writes them, such as `{ "$numberLong": "5" }`. */
function plain(value: unknown): unknown {
  if (!isObject(value)) return value
  const name = Object.keys(value).find((key) => key.startsWith('$number'))
  return name === undefined ? value : value[name]
}

function decimalAt(value: unknown, path: string): string {
  if (isUnset(value)) throw new FieldError(path, 'is missing')
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
  throw new FieldError(path, isUnset(value) ? 'is missing' : 'must be a cycle such as 202611')
}

function flagAt(value: unknown, path: string): boolean {
  if (isUnset(value)) return false
  if (typeof value === 'boolean') return value
  throw new FieldError(path, 'must be true or false')
}

/** A text, or `{ "$date": … }` with a text or the milliseconds since 1970. */
function dateFrom(value: unknown, path: string, zone: string): Date {
  const given = isObject(value) && '$date' in value ? plain(value['$date']) : value
  const isNumber = typeof given === 'number' || (given !== value && /^-?\d+$/.test(String(given)))
  const atMs = isNumber ? Number(given) : parseInstant(String(given), zone)
  if (atMs !== null && Number.isSafeInteger(atMs)) return new Date(atMs)
  throw new FieldError(path, 'must be a date')
}

/** The same line has the same stamp, so that a repeated import does not double it. */
function stampOf(line: Fields): string {
  return createHash('sha256').update(JSON.stringify(line)).digest('hex').slice(0, 32)
}
