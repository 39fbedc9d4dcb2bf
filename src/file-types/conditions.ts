/**
 * Conditions on fields in usage types, filters and response fields. All must hold. Two numbers
 * compare numerically, other values as texts; a list matches if one member does.
 */
import { arrayAt, FieldError, isUnset, objectAt, textAt } from '../domain/fields.ts'
import { compareTexts, isNumber, textOf } from '../rating/match/compare.ts'
import { compileRegex, type RuleRegex } from '../rating/rule-regex.ts'

/** Returns the reader of a field by its name in a document; throws `FieldError` with the path. */
export type ReaderOf<S> = (name: string, path: string) => (scope: S) => unknown

type Test = (value: unknown) => boolean

/** Compiles `[{src_field | field_name, op, pattern | value}]`; an empty list always holds. */
export function compileConditions<S>(
  document: unknown,
  path: string,
  readerOf: ReaderOf<S>,
): (scope: S) => boolean {
  const tests = arrayAt(document, path).map((condition, index) =>
    compileCondition(condition, `${path}.${index}`, readerOf),
  )
  const [first, second] = tests
  if (first === undefined) return () => true
  if (second === undefined) return first
  return (scope) => {
    for (const holds of tests) if (!holds(scope)) return false
    return true
  }
}

const CONDITION_KEYS = ['src_field', 'field_name', 'op', 'pattern', 'value']

/** Compiles a single condition. */
export function compileCondition<S>(
  document: unknown,
  path: string,
  readerOf: ReaderOf<S>,
): (scope: S) => boolean {
  const condition = objectAt(document, path, CONDITION_KEYS)
  const fieldKey = 'field_name' in condition ? 'field_name' : 'src_field'
  const valueKey = 'value' in condition ? 'value' : 'pattern'
  const read = readerOf(textAt(condition[fieldKey], `${path}.${fieldKey}`), `${path}.${fieldKey}`)
  const test = compileTest(condition['op'], condition[valueKey], path, valueKey)
  return (scope) => test(read(scope))
}

/** A value in slashes, with optional flags, is a regular expression for every operator. */
const DELIMITED = /^\/.*\/[imsu]*$/s

export const OPERATORS = '$eq $ne $gt $gte $lt $lte $in $nin $exists $regex'.split(' ')

function compileTest(op: unknown, value: unknown, path: string, valueKey: string): Test {
  const at = `${path}.${valueKey}`
  const operator = operatorAt(op, `${path}.op`)
  if (operator === '$regex' || (typeof value === 'string' && DELIMITED.test(value))) {
    const regex = compileRegex(value, at)
    return matchOf(regex)
  }
  if (operator === '$exists') {
    const expected = flagAt(value, at)
    return (given) => (given !== undefined) === expected
  }
  if (operator === '$in' || operator === '$nin') {
    const isListed = anyOf(listed(valuesAt(value, at)))
    return operator === '$in' ? isListed : (given) => !isListed(given)
  }
  const expected = scalarAt(value, at)
  const equal = isNumber(expected)
    ? anyOf((text) => text === expected || compareTexts(text, expected) === 0)
    : anyOf((text) => text === expected)
  const isEqual = numbersFirst(value, (order) => order === 0, equal)
  if (operator === '$eq') return isEqual
  if (operator === '$ne') return (given) => !isEqual(given)
  const isMet = ORDERS[operator] as (order: number) => boolean
  const met = anyOf((text) => text !== '' && isMet(compareTexts(text, expected)))
  return numbersFirst(value, isMet, met)
}

/** Compares safe integers directly, without conversion to text. */
function numbersFirst(expected: unknown, isMet: (order: number) => boolean, test: Test): Test {
  if (!Number.isSafeInteger(expected)) return test
  const number = expected as number
  return (value) => (Number.isSafeInteger(value) ? isMet((value as number) - number) : test(value))
}

const ORDERS: Readonly<Record<string, (order: number) => boolean>> = {
  $gt: (order) => order > 0,
  $gte: (order) => order >= 0,
  $lt: (order) => order < 0,
  $lte: (order) => order <= 0,
}

function operatorAt(op: unknown, path: string): string {
  if (isUnset(op)) return '$eq'
  const name = typeof op === 'string' && !op.startsWith('$') ? `$${op}` : op
  const found = OPERATORS.find((operator) => operator === name)
  if (found !== undefined) return found
  const text = typeof op === 'string' ? `'${op}'` : typeof op
  throw new FieldError(path, `must be one of ${OPERATORS.join(', ')}, is ${text}`)
}

function anyOf(holds: (text: string) => boolean): Test {
  return (value) => {
    if (typeof value === 'string') return holds(value)
    if (Array.isArray(value)) {
      return value.some((member) => {
        const text = textOf(member)
        return text !== undefined && holds(text)
      })
    }
    const text = textOf(value)
    return text !== undefined && holds(text)
  }
}

/** Total length of list members that a regular expression is tested on. */
const LIST_CHARS_MAX = 1024

/** Tests only the first members of a list: a message may repeat a long value a hundred times. */
function matchOf(regex: RuleRegex): Test {
  const test = anyOf((text) => regex.test(text))
  return (value) => {
    if (!Array.isArray(value)) return test(value)
    let left = LIST_CHARS_MAX
    for (const member of value) {
      const text = textOf(member)
      if (text === undefined) continue
      left -= text.length + 1
      if (left < 0) return false
      if (regex.test(text)) return true
    }
    return false
  }
}

/** Looks up candidates by their approximate number, then compares exactly. */
function listed(values: readonly string[]): (text: string) => boolean {
  const texts = new Set(values)
  const byNumber = new Map<number, string[]>()
  for (const value of texts) {
    if (!isNumber(value)) continue
    const same = byNumber.get(Number(value))
    if (same === undefined) byNumber.set(Number(value), [value])
    else same.push(value)
  }
  if (byNumber.size === 0) return (text) => texts.has(text)
  return (text) =>
    texts.has(text) ||
    (byNumber.get(Number(text))?.some((value) => compareTexts(text, value) === 0) ?? false)
}

/** A list of scalars, or a comma-separated text. */
function valuesAt(value: unknown, path: string): readonly string[] {
  if (typeof value === 'string') return value.split(',').map((part) => part.trim())
  return arrayAt(value, path).map((member, index) => scalarAt(member, `${path}.${index}`))
}

function scalarAt(value: unknown, path: string): string {
  const text = textOf(value)
  if (text !== undefined) return text
  if (value === undefined) throw new FieldError(path, 'is missing', 'missing')
  throw new FieldError(path, 'must be a text, a number or true or false')
}

function flagAt(value: unknown, path: string): boolean {
  if (isUnset(value)) return true
  const text = String(value).toLowerCase()
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw new FieldError(path, 'must be true or false')
}
