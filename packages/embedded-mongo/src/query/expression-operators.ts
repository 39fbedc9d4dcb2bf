import { Double, Int32, Long } from 'bson'
import { type ErrorCodeName, MongoCommandError } from '../errors.ts'
import { compareValues, isTruthy, typeName } from '../values/compare.ts'
import { isArray, type Numeric, type Value } from '../values/document.ts'
import { type Arithmetic, arithmetic, isNumeric, toNumber } from '../values/numeric.ts'
import { isConversion } from './conversions.ts'

type Operator = {
  readonly argsMin: number
  readonly argsMax: number
  apply(args: readonly Value[]): Value
}

/** @throws CommandError (InvalidPipelineOperator) if the operator is not supported */
export function operatorOf(name: string): Operator {
  const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined
  if (operator) return operator
  throw new MongoCommandError('InvalidPipelineOperator', `Unrecognized expression '${name}'`)
}

/** Operators that do not evaluate all operands first. */
const SPECIAL_FORMS = ['$literal', '$cond']

export function isOperator(name: string): boolean {
  return SPECIAL_FORMS.includes(name) || isConversion(name) || Object.hasOwn(OPERATORS, name)
}

const OPERATORS: Readonly<Record<string, Operator>> = {
  $add: { argsMin: 0, argsMax: Number.POSITIVE_INFINITY, apply: add },
  $multiply: { argsMin: 0, argsMax: Number.POSITIVE_INFINITY, apply: multiply },
  $subtract: { argsMin: 2, argsMax: 2, apply: ([a, b]) => subtract(a, b) },
  $divide: { argsMin: 2, argsMax: 2, apply: ([a, b]) => divide(a, b) },
  $abs: { argsMin: 1, argsMax: 1, apply: ([a]) => absolute(a) },
  $cmp: { argsMin: 2, argsMax: 2, apply: ([a, b]) => new Int32(Math.sign(compare(a, b))) },
  $eq: comparison((order) => order === 0),
  $ne: comparison((order) => order !== 0),
  $gt: comparison((order) => order > 0),
  $gte: comparison((order) => order >= 0),
  $lt: comparison((order) => order < 0),
  $lte: comparison((order) => order <= 0),
  $and: { argsMin: 0, argsMax: Number.POSITIVE_INFINITY, apply: (args) => args.every(isTruthy) },
  $or: { argsMin: 0, argsMax: Number.POSITIVE_INFINITY, apply: (args) => args.some(isTruthy) },
  $not: { argsMin: 1, argsMax: 1, apply: ([a]) => !isTruthy(a) },
  $ifNull: { argsMin: 2, argsMax: Number.POSITIVE_INFINITY, apply: ifNull },
  $concat: { argsMin: 0, argsMax: Number.POSITIVE_INFINITY, apply: concat },
  $in: { argsMin: 2, argsMax: 2, apply: ([a, b]) => isIn(a, b) },
  $type: { argsMin: 1, argsMax: 1, apply: ([a]) => (a === undefined ? 'missing' : typeName(a)) },
  $size: { argsMin: 1, argsMax: 1, apply: ([a]) => size(a) },
  $arrayElemAt: { argsMin: 2, argsMax: 2, apply: ([a, b]) => elementAt(a, b) },
  $max: { argsMin: 1, argsMax: Number.POSITIVE_INFINITY, apply: (args) => extreme(args, 1) },
  $min: { argsMin: 1, argsMax: Number.POSITIVE_INFINITY, apply: (args) => extreme(args, -1) },
}

/** In expressions a missing value is less than null, and values of all types are comparable. */
function compare(a: Value, b: Value): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  return compareValues(a, b)
}

function comparison(accepts: (order: number) => boolean): Operator {
  return { argsMin: 2, argsMax: 2, apply: ([a, b]) => accepts(compare(a, b)) }
}

/** A result that does not fit into a long becomes a double, as in MongoDB's aggregation. */
export function widened(kind: Arithmetic, a: Numeric, b: Numeric): Numeric {
  const result = arithmetic(kind, a, b)
  if (result) return result
  return (
    arithmetic(kind, new Double(toNumber(a)), new Double(toNumber(b))) ?? new Double(Number.NaN)
  )
}

function isNullish(value: Value): value is null | undefined {
  return value === null || value === undefined
}

function numeric(name: string, value: Value, code: ErrorCodeName): Numeric {
  if (isNumeric(value)) return value
  throw new MongoCommandError(code, `${name} only supports numeric types, not ${typeName(value)}`)
}

function add(args: readonly Value[]): Value {
  let sum: Numeric = new Int32(0)
  let date: Date | undefined
  for (const value of args) {
    if (isNullish(value)) return null
    if (value instanceof Date) {
      if (date) throw new MongoCommandError('Location16612', 'only one date allowed in an $add')
      date = value
    } else sum = widened('add', sum, numeric('$add', value, 'Location16554'))
  }
  return date ? new Date(date.getTime() + Math.round(toNumber(sum))) : sum
}

function multiply(args: readonly Value[]): Value {
  let product: Numeric = new Int32(1)
  for (const value of args) {
    if (isNullish(value)) return null
    product = widened('multiply', product, numeric('$multiply', value, 'Location16555'))
  }
  return product
}

function subtract(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) return null
  if (a instanceof Date) {
    if (b instanceof Date) return Long.fromNumber(a.getTime() - b.getTime())
    const ms = toNumber(numeric('$subtract', b, 'Location16556'))
    return new Date(a.getTime() - Math.round(ms))
  }
  const left = numeric('$subtract', a, 'Location16556')
  return widened('subtract', left, numeric('$subtract', b, 'Location16556'))
}

function divide(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) return null
  const left = numeric('$divide', a, 'Location16609')
  const right = numeric('$divide', b, 'Location16609')
  if (toNumber(right) === 0) throw new MongoCommandError('Location16608', "can't $divide by zero")
  return widened('divide', left, right)
}

function absolute(value: Value): Value {
  if (isNullish(value)) return null
  const number = numeric('$abs', value, 'Location28765')
  return toNumber(number) < 0 ? widened('multiply', number, new Int32(-1)) : number
}

function ifNull(args: readonly Value[]): Value {
  for (const value of args.slice(0, -1)) if (!isNullish(value)) return value
  return args.at(-1)
}

function concat(args: readonly Value[]): Value {
  let text = ''
  for (const value of args) {
    if (isNullish(value)) return null
    if (typeof value !== 'string') {
      throw new MongoCommandError(
        'Location16702',
        `$concat only supports strings, not ${typeName(value)}`,
      )
    }
    text += value
  }
  return text
}

function isIn(value: Value, array: Value): boolean {
  if (!isArray(array)) {
    throw new MongoCommandError(
      'Location40081',
      `$in requires an array as a second argument, found: ${typeName(array)}`,
    )
  }
  return array.some((element) => compare(element, value) === 0)
}

function size(value: Value): Value {
  if (isArray(value)) return new Int32(value.length)
  throw new MongoCommandError(
    'Location17124',
    `The argument to $size must be an array, but was of type: ${typeName(value)}`,
  )
}

function elementAt(array: Value, index: Value): Value {
  if (isNullish(array) || isNullish(index)) return null
  if (!isArray(array)) {
    throw new MongoCommandError(
      'Location28689',
      `$arrayElemAt's first argument must be an array, but is ${typeName(array)}`,
    )
  }
  return array.at(toNumber(numeric('$arrayElemAt', index, 'Location28690')))
}

/** The largest (sign 1) or smallest (-1) of the values, or of one array; null if all are null. */
function extreme(args: readonly Value[], sign: number): Value {
  const [only] = args
  const values = args.length === 1 && isArray(only) ? only : args
  let best: Value = null
  for (const value of values) {
    if (isNullish(value)) continue
    if (best === null || Math.sign(compareValues(value, best)) === sign) best = value
  }
  return best
}
