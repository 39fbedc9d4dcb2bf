/**
 * MongoDB filters evaluated in memory, for balances, whose current state is not in MongoDB. Regular
 * expressions run in bounded time (rating/rule-regex.ts).
 */
import { FieldError, type Fields } from '../../domain/fields.ts'
import { compileRegex } from '../../rating/rule-regex.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'

export type BalanceFilter = (document: Fields) => boolean
type Test = (value: unknown) => boolean

/** Throws `EntityRuleError` with the path of an unsupported operator or value. */
export function compileMatcher(filter: Fields, path = 'query'): BalanceFilter {
  const parts = Object.entries(filter).map(([key, condition]) => {
    const at = `${path}.${key}`
    if (key === '$and' || key === '$or') return combined(key, condition, at)
    if (key.startsWith('$')) throw fieldRule(at, 'is not an operator that is known here', 'unknown')
    const test = compileCondition(condition, at)
    return (document: Fields) => test(document[key])
  })
  return (document) => parts.every((part) => part(document))
}

function combined(key: '$and' | '$or', clauses: unknown, path: string): BalanceFilter {
  if (!Array.isArray(clauses) || clauses.length === 0) {
    throw fieldRule(path, 'must be a list of filters')
  }
  const parts = clauses.map((clause: unknown, index) => {
    if (!isFields(clause)) throw fieldRule(`${path}.${index}`, 'must be a filter')
    return compileMatcher(clause, `${path}.${index}`)
  })
  if (key === '$and') return (document) => parts.every((part) => part(document))
  return (document) => parts.some((part) => part(document))
}

function compileCondition(condition: unknown, path: string): Test {
  if (condition instanceof RegExp) return regex(condition.source, condition.flags, path)
  if (!isOperators(condition)) return equalTo(condition)
  const tests = Object.entries(condition)
    .filter(([name]) => name !== '$options')
    .map(([name, operand]) => {
      const at = `${path}.${name}`
      if (name === '$regex') return regex(operand, condition['$options'], at)
      const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined
      if (operator === undefined)
        throw fieldRule(at, 'is not an operator that is known here', 'unknown')
      return operator(operand, at)
    })
  return (value) => tests.every((test) => test(value))
}

const OPERATORS: Readonly<Record<string, (operand: unknown, path: string) => Test>> = {
  $eq: equalTo,
  $ne: (operand) => not(equalTo(operand)),
  $in: anyOf,
  $nin: (operand, path) => not(anyOf(operand, path)),
  $gt: (operand) => ordered(operand, (order) => order > 0),
  $gte: (operand) => ordered(operand, (order) => order >= 0),
  $lt: (operand) => ordered(operand, (order) => order < 0),
  $lte: (operand) => ordered(operand, (order) => order <= 0),
  $exists: (operand) => (value) => (value !== undefined) === isTrue(operand),
  $not: (operand, path) => not(compileCondition(operand, path)),
  $all: (operand, path) => {
    const tests = listAt(operand, path).map(equalTo)
    return (value) => tests.length > 0 && tests.every((test) => test(value))
  },
  $size: (operand) => (value) => Array.isArray(value) && value.length === operand,
  $elemMatch: (operand, path) => {
    if (!isFields(operand)) throw fieldRule(path, 'must be a filter')
    const test = isOperators(operand) ? compileCondition(operand, path) : null
    const matches = test === null ? compileMatcher(operand, path) : null
    const one = (member: unknown) =>
      test === null ? isFields(member) && matches?.(member) === true : test(member)
    return (value) => Array.isArray(value) && value.some(one)
  },
}

function not(test: Test): Test {
  return (value) => !test(value)
}

function isTrue(operand: unknown): boolean {
  return operand !== false && operand !== 0 && operand !== null
}

/** A missing field equals null, as in MongoDB. */
function equalTo(operand: unknown): Test {
  return (value) =>
    membersOf(value).some((one) => kindOf(one) === kindOf(operand) && compare(one, operand) === 0)
}

function anyOf(operand: unknown, path: string): Test {
  const tests = listAt(operand, path).map(equalTo)
  return (value) => tests.some((test) => test(value))
}

function ordered(operand: unknown, fits: (order: number) => boolean): Test {
  const kind = kindOf(operand)
  return (value) =>
    membersOf(value).some((one) => kindOf(one) === kind && fits(compare(one, operand)))
}

function regex(source: unknown, flags: unknown, path: string): Test {
  if (source instanceof RegExp) return regex(source.source, flags ?? source.flags, path)
  if (typeof source !== 'string') throw fieldRule(path, 'must be a regular expression')
  const options = typeof flags === 'string' ? flags : ''
  try {
    const pattern = compileRegex(`/${source}/${options}`, path)
    return (value) => membersOf(value).some((one) => typeof one === 'string' && pattern.test(one))
  } catch (error) {
    if (error instanceof FieldError) throw new EntityRuleError(error.message, error.issues)
    throw error
  }
}

function listAt(operand: unknown, path: string): readonly unknown[] {
  if (Array.isArray(operand)) return operand
  throw fieldRule(path, 'must be a list')
}

/** A list matches as a whole or by one of its members. */
function membersOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? [...value, value] : [value]
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOperators(value: unknown): value is Fields {
  if (!isFields(value) || value instanceof Date || idOf(value) !== null) return false
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => key.startsWith('$'))
}

/** Kinds in MongoDB's sort order. */
const KINDS = ['null', 'number', 'string', 'object', 'array', 'id', 'boolean', 'date'] as const

function kindOf(value: unknown): (typeof KINDS)[number] {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number' || typeof value === 'bigint') return 'number'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'boolean'
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'date'
  return idOf(value) === null ? 'object' : 'id'
}

/** Text of an ObjectId, also if another copy of the library created it. */
function idOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('toHexString' in value)) return null
  return String(value)
}

/** Negative, zero or positive, in MongoDB's sort order. */
export function compareValues(one: unknown, other: unknown): number {
  const kinds = KINDS.indexOf(kindOf(one)) - KINDS.indexOf(kindOf(other))
  return kinds === 0 ? compare(one, other) : kinds
}

/** Compares two values of the same kind. */
function compare(one: unknown, other: unknown): number {
  const [a, b] = [comparable(one), comparable(other)]
  return a < b ? -1 : a > b ? 1 : 0
}

function comparable(value: unknown): number | string {
  if (typeof value === 'number' || typeof value === 'string') return value
  if (value instanceof Date) return value.getTime()
  if (typeof value === 'boolean') return Number(value)
  if (value === null || value === undefined) return 0
  return idOf(value) ?? JSON.stringify(value)
}
