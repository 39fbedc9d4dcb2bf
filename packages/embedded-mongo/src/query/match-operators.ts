import { BSONRegExp, MaxKey, MinKey } from 'bson'
import { MongoCommandError, notImplemented } from '../errors.ts'
import { compareValues, equalValues, TYPE_CLASS, typeClass, typeName } from '../values/compare.ts'
import { type Doc, isArray, type Value } from '../values/document.ts'
import { keyText } from '../values/key-encoding.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'

/** One operator of a query, applied to the values found at a path. */
export type ValueTest = {
  test(value: Value): boolean
  /** The document matches if no value satisfies the test. */
  readonly negated?: boolean
  /** Which part of an array is tested; by default the array itself and its elements. */
  readonly reach?: 'whole' | 'elements'
}

/**
 * The test of one operator of `operators`, undefined if it tests nothing by itself.
 * @throws CommandError (BadValue) for an unknown operator or a wrong operand
 */
export function compileOperator(name: string, operators: Doc): ValueTest | undefined {
  const operand = operators[name]
  switch (name) {
    case '$eq':
      return equalTest(operand)
    case '$ne':
      return { ...equalTest(operand), negated: true }
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte':
      return orderTest(name, operand)
    case '$in':
      return inTest(name, operand)
    case '$nin':
      return { ...inTest(name, operand), negated: true }
    case '$exists':
      return existsTest(operand)
    case '$type':
      return typeTest(operand)
    case '$size':
      return sizeTest(operand)
    case '$mod':
      return modTest(operand)
    case '$regex':
      return regexTest(regexOperand(operators))
    case '$options':
      if ('$regex' in operators) return undefined
      throw new MongoCommandError('BadValue', '$options needs a $regex')
    case '$comment':
      return undefined
    default:
      throw new MongoCommandError('BadValue', `unknown operator: ${name}`)
  }
}

export function equalTest(operand: Value): ValueTest {
  if (operand === undefined) throw new MongoCommandError('BadValue', 'cannot compare to undefined')
  if (operand === null) return { test: (value) => value === null || value === undefined }
  if (typeof operand === 'string') return { test: (value) => value === operand }
  return { test: (value) => value !== undefined && equalValues(value, operand) }
}

type Order = '$gt' | '$gte' | '$lt' | '$lte'

const ORDERS: Readonly<Record<Order, (order: number) => boolean>> = {
  $gt: (order) => order > 0,
  $gte: (order) => order >= 0,
  $lt: (order) => order < 0,
  $lte: (order) => order <= 0,
}

/** Only values of the operand's class compare, except with MinKey and MaxKey. */
function orderTest(name: Order, operand: Value): ValueTest {
  if (operand instanceof BSONRegExp) {
    throw new MongoCommandError(
      'BadValue',
      `Can't have RegEx as arg to predicate over field ${name}`,
    )
  }
  const accepts = ORDERS[name]
  const kind = typeClass(operand)
  if (operand instanceof MinKey || operand instanceof MaxKey) {
    return { test: (value) => value !== undefined && accepts(compareValues(value, operand)) }
  }
  if (kind === TYPE_CLASS.null) {
    // Null equals only null, so only the operators with "or equal" can match.
    const orEqual = accepts(0)
    return { test: (value) => orEqual && (value === null || value === undefined) }
  }
  const isNan = (value: Value) => isNumeric(value) && Number.isNaN(toNumber(value))
  const operandIsNan = isNan(operand)
  return {
    test(value) {
      if (value === undefined || typeClass(value) !== kind) return false
      // NaN has no order: it is only equal to itself.
      if (kind === TYPE_CLASS.number && (operandIsNan || isNan(value))) {
        return operandIsNan && isNan(value) && accepts(0)
      }
      return accepts(compareValues(value, operand))
    },
  }
}

function inTest(name: string, operand: Value): ValueTest {
  if (!isArray(operand)) throw new MongoCommandError('BadValue', `${name} needs an array`)
  const keys = new Set<string>()
  const patterns: ValueTest[] = []
  let orMissing = false
  for (const value of operand) {
    if (value instanceof BSONRegExp) patterns.push(regexTest(value))
    else keys.add(keyText(value))
    if (value === null) orMissing = true
  }
  return {
    test(value) {
      if (value === undefined) return orMissing
      return keys.has(keyText(value)) || patterns.some((pattern) => pattern.test(value))
    },
  }
}

function existsTest(operand: Value): ValueTest {
  const mustExist =
    !(operand === false || operand === null) && !(isNumeric(operand) && toNumber(operand) === 0)
  return { test: (value) => value !== undefined, reach: 'whole', negated: !mustExist }
}

const TYPE_NUMBERS: Readonly<Record<number, string>> = {
  1: 'double',
  2: 'string',
  3: 'object',
  4: 'array',
  5: 'binData',
  7: 'objectId',
  8: 'bool',
  9: 'date',
  10: 'null',
  11: 'regex',
  13: 'javascript',
  14: 'symbol',
  16: 'int',
  17: 'timestamp',
  18: 'long',
  19: 'decimal',
  [-1]: 'minKey',
  127: 'maxKey',
}

function typeTest(operand: Value): ValueTest {
  const names = (isArray(operand) ? operand : [operand]).map(typeOperand)
  const isNumber = names.includes('number')
  return {
    test: (value) =>
      value !== undefined && (names.includes(typeName(value)) || (isNumber && isNumeric(value))),
  }
}

function typeOperand(operand: Value): string {
  const names = Object.values(TYPE_NUMBERS)
  if (typeof operand === 'string' && (names.includes(operand) || operand === 'number')) {
    return operand
  }
  const name = isNumeric(operand) ? TYPE_NUMBERS[toNumber(operand)] : undefined
  if (name) return name
  throw new MongoCommandError('BadValue', `Unknown type name alias: ${String(operand)}`)
}

function sizeTest(operand: Value): ValueTest {
  const size = isNumeric(operand) ? toNumber(operand) : Number.NaN
  if (!Number.isInteger(size)) {
    throw new MongoCommandError('BadValue', 'Failed to parse $size. Expected an integer')
  }
  if (size < 0) throw new MongoCommandError('BadValue', '$size may not be negative')
  return { test: (value) => isArray(value) && value.length === size, reach: 'whole' }
}

function modTest(operand: Value): ValueTest {
  if (!isArray(operand) || operand.length !== 2) {
    throw new MongoCommandError('BadValue', 'malformed mod, needs to be an array of two elements')
  }
  const [divisor, remainder] = operand.map((part) => {
    if (!isNumeric(part)) throw new MongoCommandError('BadValue', 'malformed mod, not a number')
    return Math.trunc(toNumber(part))
  }) as [number, number]
  if (divisor === 0) throw new MongoCommandError('BadValue', 'divisor cannot be 0')
  if (!Number.isSafeInteger(divisor)) throw notImplemented('$mod by more than 2^53')
  return {
    test: (value) => isNumeric(value) && Math.trunc(toNumber(value)) % divisor === remainder,
  }
}

function regexOperand(operators: Doc): BSONRegExp {
  const operand = operators['$regex']
  const options = operators['$options']
  if (options !== undefined && typeof options !== 'string') {
    throw new MongoCommandError('BadValue', '$options has to be a string')
  }
  if (typeof operand === 'string') return new BSONRegExp(operand, options ?? '')
  if (!(operand instanceof BSONRegExp)) {
    throw new MongoCommandError('BadValue', '$regex has to be a string')
  }
  if (options === undefined) return operand
  if (operand.options !== '') {
    throw new MongoCommandError('Location51075', 'options set in both $regex and $options')
  }
  return new BSONRegExp(operand.pattern, options)
}

export function regexTest(operand: BSONRegExp): ValueTest {
  const pattern = compileRegex(operand)
  return {
    test(value) {
      if (typeof value === 'string') return pattern.test(value)
      return value instanceof BSONRegExp && equalValues(value, operand)
    },
  }
}

/** PCRE syntax that JavaScript would interpret differently instead of refusing it. */
const FOREIGN_SYNTAX = /(?<!\\)(?:\\\\)*\\[AZzGQEhHRXKaegNlLoU]|\[:/

/** A Unicode property such as `\p{Lu}`: JavaScript supports it only with the flag u. */
const PROPERTY = /(?<!\\)(?:\\\\)*\\[pP]/

/**
 * Translates a regular expression from PCRE to JavaScript.
 * @throws CommandError for unsupported options or syntax
 */
export function compileRegex({ pattern, options }: BSONRegExp): RegExp {
  for (const option of options) {
    if (!'imsxu'.includes(option)) {
      throw new MongoCommandError('Location51108', `invalid flag in regex options: ${options}`)
    }
    if (option === 'x') throw notImplemented('the regular expression option x')
  }
  if (FOREIGN_SYNTAX.test(pattern)) throw notImplemented(`the regular expression ${pattern}`)
  const flags = options.replace(/u/g, '')
  // Without the flag JavaScript reads `\p{L}` as the text "p{L}".
  const hasProperty = PROPERTY.test(pattern)
  // Prefer matching by code points; escapes like `\-` are only allowed without the flag.
  for (const unicode of ['u', '']) {
    try {
      return new RegExp(pattern, flags + unicode)
    } catch (error) {
      if (unicode !== '' && !hasProperty) continue
      throw new MongoCommandError(
        'Location51091',
        `Regular expression is invalid: ${String(error)}`,
      )
    }
  }
  throw new MongoCommandError('Location51091', 'Regular expression is invalid')
}
