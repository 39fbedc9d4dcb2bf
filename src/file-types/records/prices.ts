/** Prices that records have (`pricing`), in place of those of the catalogue. */
import type { ServiceRequest } from '../../domain/charge-request.ts'
import { FieldError, isUnset, objectAt } from '../../domain/fields.ts'
import {
  type ExactDecimal,
  MICROS_DIGITS,
  PRICE_DIGITS_MAX,
  parseDecimal,
} from '../../domain/money.ts'
import type { FieldProblem } from '../file-type.ts'
import { type Path, pathAt, type Scope } from '../paths.ts'
import { booleanAt } from '../realtime-section.ts'
import type { PriceReader } from '../services.ts'
import type { Mappings } from '../usage.ts'

export interface RecordPrices {
  readonly read: PriceReader
  /** Why the prices of all services of a record cannot be charged; null if they can. */
  readonly problemOf: (services: readonly ServiceRequest[]) => FieldProblem | null
}

interface PriceField {
  readonly path: Path
  readonly factor: ExactDecimal
}

const KEYS = ['aprice_field', 'aprice_mult', 'tax_included']
const ONE: ExactDecimal = { digits: 1n, scale: 0 }

/** Null if no usage type has a price. Throws `FieldError`. */
export function compilePrices(
  value: unknown,
  path: string,
  mappings: Pick<Mappings, 'mainUsagets' | 'isOpen'>,
): RecordPrices | null {
  const fields = new Map<string, PriceField>()
  for (const [usaget, pricing] of Object.entries(isEmptyList(value) ? {} : objectAt(value, path))) {
    const at = `${path}.${usaget}`
    const field = isEmptyList(pricing) ? null : priceFieldAt(pricing, at)
    if (field === null) continue
    if (!mappings.isOpen && !mappings.mainUsagets.includes(usaget)) {
      throw new FieldError(at, 'is no usage type of the file type')
    }
    fields.set(usaget, field)
  }
  if (fields.size === 0) return null
  return {
    read: (scope, { members }, errors) => {
      const field = fields.get(scope.usaget)
      if (field === undefined) return undefined
      const micros = readPrice(field, scope, members)
      if (typeof micros === 'number') return micros
      errors.fail(field.path.name, micros)
      return 0
    },
    problemOf: (services) => {
      for (const { usaget, used, priceMicros = 0 } of services) {
        const field = fields.get(usaget)?.path.name ?? ''
        if (!Number.isSafeInteger(priceMicros)) return { field, why: TOO_LARGE }
        if (priceMicros > 0 && used === 0) return { field, why: 'is a price without units' }
      }
      return null
    },
  }
}

/** Existing installations store an empty object as a list. */
function isEmptyList(value: unknown): boolean {
  return isUnset(value) || (Array.isArray(value) && value.length === 0)
}

function priceFieldAt(value: unknown, path: string): PriceField | null {
  const { aprice_field: field, ...more } = objectAt(value, path, KEYS)
  if (booleanAt({ value: more['tax_included'], path: `${path}.tax_included` })) {
    throw new FieldError(`${path}.tax_included`, 'is not supported: prices are before tax')
  }
  const factor = factorAt(more['aprice_mult'], `${path}.aprice_mult`)
  if (!isUnset(field)) return { path: pathAt(field, `${path}.aprice_field`), factor }
  if (isUnset(more['aprice_mult'])) return null
  throw new FieldError(`${path}.aprice_field`, 'is missing', 'missing')
}

function factorAt(value: unknown, path: string): ExactDecimal {
  if (isUnset(value)) return ONE
  const decimal = decimalOf(value)
  if (decimal !== null && decimal.digits > 0n && decimal.scale <= PRICE_DIGITS_MAX) return decimal
  throw new FieldError(path, `must be above 0, with at most ${PRICE_DIGITS_MAX} decimals`)
}

/** Micros, or the text of the error. A price outside of the services would count for each. */
function readPrice({ path, factor }: PriceField, scope: Scope, members: number): number | string {
  const given = path.read(scope)
  if (given === undefined || given === '') return 'is required: it is the price'
  const isShared = members > 1 && path.in(scope.entry) === undefined
  return isShared ? 'must be in the service itself: it is one of several' : microsOf(given, factor)
}

const CHARS_MAX = 64

function decimalOf(value: unknown): ExactDecimal | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  return String(value).length > CHARS_MAX ? null : parseDecimal(value)
}

const TOO_LARGE = 'is more than 2^53 - 1 millionths'

/** Micros, or the text of the error if it is not an exact amount. */
function microsOf(value: unknown, factor: ExactDecimal): number | string {
  const price = decimalOf(value)
  if (price === null) return 'must be a decimal number'
  if (price.digits < 0n) return 'must not be negative: a refund is a credit'
  const product = price.digits * factor.digits * 10n ** BigInt(MICROS_DIGITS)
  const under = 10n ** BigInt(price.scale + factor.scale)
  if (product % under !== 0n) return `must have at most ${MICROS_DIGITS} decimals as an amount`
  const micros = Number(product / under)
  return Number.isSafeInteger(micros) ? micros : TOO_LARGE
}
