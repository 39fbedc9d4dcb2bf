/** Included units and money of plans and services. */
import type { IncludedGroup } from '../../domain/catalogue.ts'
import { UNLIMITED_TOTAL } from '../../domain/counters.ts'
import { readAll, readEach } from '../../domain/field-errors.ts'
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
  const groups = readEach(entriesAt(document, path), ([name, value]) => {
    const at = `${path}.${name}`
    const group = objectAt(value, at)
    const { rules, amounts } = readAll({
      rules: () => rulesOf(group, at),
      amounts: () => amountsOf(name, group, at, options),
    })
    return amounts.map((amount) => ({ ...amount, ...rules }))
  })
  return groups.flat()
}

/** A group except its rules. */
type GroupAmount = Omit<IncludedGroup, keyof Rules>

function amountsOf(
  name: string,
  group: Fields,
  path: string,
  options: CompileOptions,
): readonly GroupAmount[] {
  if (group['cost'] !== undefined) {
    return [amountOf(name, 'cost', group, path, () => costAt(group['cost'], `${path}.cost`))]
  }
  if (group['value'] === undefined) return legacyAmounts(name, group, path, options)
  const read = () => totalAt(group['value'], `${path}.value`, options)
  return [amountOf(name, 'value', group, path, read)]
}

function amountOf(
  name: string,
  key: 'cost' | 'value',
  group: Fields,
  path: string,
  read: () => number,
): GroupAmount {
  const { total, usagets } = readAll({
    keys: () => checkKnownKeys(group, path, [...RULE_KEYS, key, 'usage_types']),
    total: read,
    usagets: () => usagetsOf(group, path),
  })
  return { name, kind: key === 'cost' ? 'totalCost' : 'units', total, usagets }
}

function costAt(value: unknown, path: string): number {
  return isUnlimited(value) ? UNLIMITED_TOTAL : checkTotal(microsAt(value, path), path)
}

function legacyAmounts(
  name: string,
  group: Fields,
  path: string,
  options: CompileOptions,
): readonly GroupAmount[] {
  const amounts = Object.entries(group).filter(([key]) => !RULE_KEYS.includes(key))
  if (amounts.length === 0 || group['usage_types'] !== undefined) {
    throw new FieldError(path, 'must have a value or a cost')
  }
  return readEach(amounts, ([usaget, value]) => {
    const at = `${path}.${usaget}`
    checkUsageType(usaget, at)
    const total = totalAt(value, at, options)
    const ownName = amounts.length === 1 ? name : `${name}.${usaget}`
    return { name: ownName, kind: 'units', total, usagets: new Set([usaget]) }
  })
}

/** A group that is both shared and pooled counts as pooled: both use one counter of the account. */
function rulesOf(group: Fields, path: string): Rules {
  const flag = (name: string, ifAbsent: boolean) =>
    booleanAt(group[name], `${path}.${name}`, ifAbsent)
  const { isShared, isPool, rates, isPerQuantity } = readAll({
    isShared: () => flag('account_shared', false),
    isPool: () => flag('account_pool', false),
    rates: () => ratesAt(group['rates'], `${path}.rates`),
    isPerQuantity: () => flag('quantity_affected', true),
  })
  return { rates, sharing: isPool ? 'pool' : isShared ? 'shared' : 'none', isPerQuantity }
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
  const types = group['usage_types']
  if (isEmpty(types)) return new Set()
  const usagets = Array.isArray(types) ? textsAt(types, at) : Object.keys(objectAt(types, at))
  readEach(usagets, (usaget) => checkUsageType(usaget, `${at}.${usaget}`))
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
