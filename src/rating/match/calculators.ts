/** The configured rules of rate matching, `rate_calculators`. */
import {
  arrayAt,
  FieldError,
  isObject,
  isUnset,
  objectAt,
  oneOfAt,
  textAt,
} from '../../domain/fields.ts'
import { checkName, requestField } from '../rule-names.ts'
import { compileLineValue, type LineValue } from './computed.ts'
import { EVENT_TIME, requestFields } from './usage-fields.ts'

const FILTER_TYPES = ['match', 'equalFalse', 'longestPrefix', 'range', 'regex'] as const

export interface CompiledFilter {
  /** `always` matches every rate; its value may only skip the priority. */
  readonly type: (typeof FILTER_TYPES)[number] | 'always'
  /** Field of the rate, such as `params.prefix`. */
  readonly rateKey: string
  readonly value: LineValue
}

/** Filters that must all match. Without filters every rate of the usage type matches. */
export type Priority = readonly CompiledFilter[]

/** Usage type of rules for all usage types without their own rules. */
export const ANY_USAGET = '*'

export interface Calculators {
  /** Category → usage type → priorities in order. */
  readonly categories: ReadonlyMap<string, ReadonlyMap<string, readonly Priority[]>>
  /** Whether a rule compares the event time. */
  readonly readsTime: boolean
  /** Names of the request fields that a decoder must keep for the rules. */
  fieldsNeeded(): readonly string[]
}

/**
 * Compiles `{category: {usaget: {priorities: [{filters: [...]}]}}}`, or the older form with a list
 * of lists of filters. Throws `FieldError` with the path of an unknown or invalid field.
 */
export function compileCalculators(
  document: unknown,
  path = 'rating.rateCalculators',
): Calculators {
  const reads: string[] = []
  const categories = new Map<string, Map<string, readonly Priority[]>>()
  for (const [category, usagets] of Object.entries(objectAt(document, path))) {
    const at = `${path}.${category}`
    checkName(category, at)
    const compiled = new Map<string, readonly Priority[]>()
    for (const [usaget, rules] of Object.entries(objectAt(usagets, at))) {
      if (usaget !== ANY_USAGET) checkName(usaget, `${at}.${usaget}`)
      compiled.set(usaget, compilePriorities(rules, `${at}.${usaget}`, reads))
    }
    categories.set(category, compiled)
  }
  const needed = requestFields(reads)
  const readsTime = reads.some((name) => requestField(name) === EVENT_TIME)
  return { categories, readsTime, fieldsNeeded: () => needed }
}

function compilePriorities(rules: unknown, path: string, reads: string[]): readonly Priority[] {
  const at = Array.isArray(rules) ? path : `${path}.priorities`
  const list = Array.isArray(rules)
    ? rules
    : arrayAt(objectAt(rules, path, ['priorities'])['priorities'], at)
  return list.map((item, index) => compilePriority(item, `${at}.${index}`, reads))
}

function compilePriority(item: unknown, path: string, reads: string[]): Priority {
  const isOld = !isObject(item)
  const filters = isOld ? item : objectAt(item, path, ['filters', 'cache_db_queries'])['filters']
  const at = isOld ? path : `${path}.filters`
  const list = arrayAt(filters, at)
  if (list.length === 0) throw new FieldError(at, 'must have at least one filter')
  return list.flatMap((filter, index) => compileFilter(filter, `${at}.${index}`, reads))
}

export const FILTER_KEYS = ['type', 'rate_key', 'line_key', 'computed', 'preFunction']

/** The compiled filter; none if it always matches. */
function compileFilter(document: unknown, path: string, reads: string[]): CompiledFilter[] {
  const filter = objectAt(document, path, FILTER_KEYS)
  const type = oneOfAt(filter['type'], `${path}.type`, FILTER_TYPES)
  const rateKey = textAt(filter['rate_key'], `${path}.rate_key`)
  const { value, reads: names } = compileLineValue(filter, path)
  reads.push(...names)
  if (rateKey !== 'usaget') return [{ type, rateKey, value }]
  // All rates of the index have the usage type; a condition may still skip the priority.
  if (type !== 'match' && type !== 'range') {
    throw new FieldError(`${path}.rate_key`, `'usaget' cannot be compared by ${type}`)
  }
  return isUnset(filter['computed']) ? [] : [{ type: 'always', rateKey, value }]
}
