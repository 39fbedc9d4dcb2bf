/** `overrides` of subscribers and accounts. */
import type { Condition, Override } from '../../domain/catalogue.ts'
import { readAll, readEach } from '../../domain/field-errors.ts'
import {
  arrayAt,
  choiceAt,
  FieldError,
  type Fields,
  isEmpty,
  objectAt,
  textAt,
  textsAt,
  wholeAt,
} from '../../domain/fields.ts'
import type { CompileOptions } from './document.ts'
import { groupsOf } from './offer.ts'
import { patternAt } from './pattern.ts'
import { compilePrices } from './price.ts'
import { checkCyclePrices } from './recurring.ts'

const TYPES = ['plan', 'service', 'discount'] as const

const NO_OVERRIDES: readonly Override[] = []

/** Overrides of plans and services, in their order. Overrides of discounts do not affect usage. */
export function overridesAt(
  value: unknown,
  path: string,
  options: CompileOptions,
): readonly Override[] {
  if (isEmpty(value)) return NO_OVERRIDES
  const overrides = readEach(arrayAt(value, path), (entry, index) => {
    const at = `${path}.${index}`
    const override = objectAt(entry, at)
    const type = choiceAt(textAt(override['type'], `${at}.type`), `${at}.type`, TYPES)
    return type === 'discount' ? [] : [compileOverride(override, type, at, options)]
  })
  return overrides.flat()
}

function compileOverride(
  override: Fields,
  type: Override['type'],
  path: string,
  options: CompileOptions,
): Override {
  const at = `${path}.value`
  const value = isEmpty(override['value']) ? {} : objectAt(override['value'], at)
  const { rates, include, disallowed_rates: disallowed, price } = value
  const dotted = Object.keys(value).find((name) => name.includes('.'))
  if (dotted !== undefined) {
    throw new FieldError(`${at}.${dotted}`, 'must be a whole field, not a path into one')
  }
  const { cyclePrices: _, ...terms } = readAll({
    cyclePrices: () => price !== undefined && checkCyclePrices(price, `${at}.price`),
    key: () => textAt(override['key'], `${path}.key`),
    serviceId: () => (isEmpty(override['id']) ? 0 : wholeAt(override['id'], `${path}.id`, 0)),
    conditions: () => conditionsAt(override['condition'], `${path}.condition`),
    prices: () => (rates === undefined ? null : compilePrices(rates, `${at}.rates`, options)),
    groups: () => (include === undefined ? null : groupsOf(include, `${at}.include`, options)),
    disallowedRates: () =>
      disallowed === undefined ? null : new Set(textsAt(disallowed, `${at}.disallowed_rates`)),
  })
  return { type, ...terms }
}

const OPERATORS = ['eq', 'ne', 'in', 'nin', 'lt', 'lte', 'gt', 'gte', 'regex', 'exists'] as const

/** One `{ field, op, value }`, a list of them, or `{ fields: [...] }`; all must hold. */
export function conditionsAt(value: unknown, path: string): readonly Condition[] {
  if (isEmpty(value)) return []
  if (Array.isArray(value)) {
    return readEach(value, (entry, index) => conditionsAt(entry, `${path}.${index}`)).flat()
  }
  const condition = objectAt(value, path)
  if (condition['fields'] !== undefined) return conditionsAt(condition['fields'], `${path}.fields`)
  const op = choiceAt(textAt(condition['op'], `${path}.op`), `${path}.op`, OPERATORS)
  const compared = valueAt(op, condition['value'], `${path}.value`)
  return [{ field: textAt(condition['field'], `${path}.field`), op, value: compared }]
}

/** The value itself; for `regex` the compiled expression. */
function valueAt(op: Condition['op'], value: unknown, path: string): unknown {
  if (value === undefined && op !== 'exists') throw new FieldError(path, 'is missing', 'missing')
  if (op === 'in' || op === 'nin') arrayAt(value, path)
  if (op !== 'regex') return value
  return patternAt(textAt(value, path), path)
}
