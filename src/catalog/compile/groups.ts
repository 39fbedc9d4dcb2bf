/** Included units and money of plans and services. */
import type { IncludedGroup } from '../../domain/catalogue.ts'
import { UNLIMITED_TOTAL } from '../../domain/counters.ts'
import {
  amountAt,
  booleanAt,
  checkKnownKeys,
  entriesAt,
  FieldError,
  type Fields,
  isEmpty,
  microsAt,
  objectAt,
  textsAt,
} from '../../domain/fields.ts'
import { toScale } from '../../domain/money.ts'
import { type CompileOptions, checkUsageType } from './document.ts'
import { patternAt } from './pattern.ts'

const RULE_KEYS = ['rates', 'account_shared', 'account_pool', 'quantity_affected']

/** Terms of a group except the included amount. */
type Rules = Pick<IncludedGroup, 'rates' | 'sharing' | 'isPerQuantity'>

/**
 * `include.groups`, in their order: `{ value, usage_types }`, `{ cost }`, or the legacy form `{
 * <usage type>: value }`, which yields one group per usage type.
 */
export function compileGroups(
  document: unknown,
  path: string,
  options: CompileOptions,
): readonly IncludedGroup[] {
  return entriesAt(document, path).flatMap(([name, value]) => {
    const at = `${path}.${name}`
    const group = objectAt(value, at)
    const rules = rulesOf(group, at)
    if (group['cost'] !== undefined) return [costGroup(name, group, at, rules)]
    if (group['value'] !== undefined) return [unitsGroup(name, group, at, rules, options)]
    return legacyGroups(name, group, at, rules, options)
  })
}

function costGroup(name: string, group: Fields, path: string, rules: Rules): IncludedGroup {
  checkKnownKeys(group, path, [...RULE_KEYS, 'cost', 'usage_types'])
  const at = `${path}.cost`
  const total = isUnlimited(group['cost'])
    ? UNLIMITED_TOTAL
    : checkTotal(microsAt(group['cost'], at), at)
  return { name, kind: 'totalCost', total, usagets: usagetsOf(group, path), ...rules }
}

function unitsGroup(
  name: string,
  group: Fields,
  path: string,
  rules: Rules,
  options: CompileOptions,
): IncludedGroup {
  checkKnownKeys(group, path, [...RULE_KEYS, 'value', 'usage_types'])
  const total = totalAt(group['value'], `${path}.value`, options)
  return { name, kind: 'units', total, usagets: usagetsOf(group, path), ...rules }
}

function legacyGroups(
  name: string,
  group: Fields,
  path: string,
  rules: Rules,
  options: CompileOptions,
): IncludedGroup[] {
  const amounts = Object.entries(group).filter(([key]) => !RULE_KEYS.includes(key))
  if (amounts.length === 0 || group['usage_types'] !== undefined) {
    throw new FieldError(path, 'must have a value or a cost')
  }
  return amounts.map(([usaget, value]) => {
    const at = `${path}.${usaget}`
    checkUsageType(usaget, at)
    const total = totalAt(value, at, options)
    const ownName = amounts.length === 1 ? name : `${name}.${usaget}`
    return { name: ownName, kind: 'units', total, usagets: new Set([usaget]), ...rules }
  })
}

/** A group that is both shared and pooled counts as pooled: both use one counter of the account. */
function rulesOf(group: Fields, path: string): Rules {
  const isShared = booleanAt(group['account_shared'], `${path}.account_shared`, false)
  const isPool = booleanAt(group['account_pool'], `${path}.account_pool`, false)
  return {
    rates: ratesAt(group['rates'], `${path}.rates`),
    sharing: isPool ? 'pool' : isShared ? 'shared' : 'none',
    isPerQuantity: booleanAt(group['quantity_affected'], `${path}.quantity_affected`, true),
  }
}

/**
 * A list of keys, ALL_RATES (alone or in a list), or a regular expression, with or without slashes.
 */
function ratesAt(value: unknown, path: string): IncludedGroup['rates'] {
  if (value === undefined || value === 'ALL_RATES') return 'all'
  if (typeof value !== 'string') {
    const keys = new Set(textsAt(value, path))
    return keys.has('ALL_RATES') ? 'all' : keys
  }
  return patternAt(value, path)
}

/** An object with the usage types as keys, or a list of them; all usage types if absent. */
function usagetsOf(group: Fields, path: string): ReadonlySet<string> {
  const at = `${path}.usage_types`
  const given = group['usage_types']
  if (isEmpty(given)) return new Set()
  const usagets = Array.isArray(given) ? textsAt(given, at) : Object.keys(objectAt(given, at))
  for (const usaget of usagets) checkUsageType(usaget, `${at}.${usaget}`)
  return new Set(usagets)
}

function totalAt(value: unknown, path: string, { unitDigits }: CompileOptions): number {
  if (isUnlimited(value)) return UNLIMITED_TOTAL
  const total = toScale(amountAt(value, path), unitDigits)
  if (total === null) throw new FieldError(path, 'must be a whole number of units, or UNLIMITED')
  return checkTotal(total, path)
}

function isUnlimited(value: unknown): boolean {
  return value === 'UNLIMITED'
}

/** Leaves room to multiply and add totals. */
const TOTAL_MAX = 2 ** 50

function checkTotal(total: number, path: string): number {
  if (total > TOTAL_MAX) throw new FieldError(path, 'is too large: above 2^50; is it UNLIMITED?')
  return total
}
