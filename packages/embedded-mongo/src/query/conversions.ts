import { Decimal128, ObjectId } from 'bson'
import { MongoCommandError, notImplemented } from '../errors.ts'
import { typeName } from '../values/compare.ts'
import { type Doc, isDoc, type Value } from '../values/document.ts'
import { isNumeric, toDecimal } from '../values/numeric.ts'
import { compileDateFormat } from './date-format.ts'

type Evaluate = (doc: Doc) => Value
type Compile = (expression: Value) => Evaluate

/** Operators that convert a value, with named operands. */
const CONVERSIONS: Readonly<Record<string, (operand: Value, compile: Compile) => Evaluate>> = {
  $convert: compileConvert,
  $toDecimal: (operand, compile) => convertTo(compile(operand), undefined, undefined),
  $dateToString: compileDateToString,
}

export function isConversion(name: string): boolean {
  return Object.hasOwn(CONVERSIONS, name)
}

/** @throws CommandError for unknown and missing operands */
export function compileConversion(name: string, operand: Value, compile: Compile): Evaluate {
  return CONVERSIONS[name]!(operand, compile)
}

function operandsOf(name: string, operand: Value, known: readonly string[]): Doc {
  if (!isDoc(operand)) {
    throw new MongoCommandError('FailedToParse', `${name} expects an object of named arguments`)
  }
  for (const key of Object.keys(operand)) {
    if (!known.includes(key)) {
      throw new MongoCommandError('FailedToParse', `${name} found an unknown argument: ${key}`)
    }
  }
  return operand
}

const DECIMAL = 19

function compileConvert(operand: Value, compile: Compile): Evaluate {
  const known = ['input', 'to', 'onError', 'onNull']
  const { input, to, onError, onNull } = operandsOf('$convert', operand, known)
  if (input === undefined || to === undefined) {
    throw new MongoCommandError('FailedToParse', "$convert needs 'input' and 'to'")
  }
  const isDecimal = to === 'decimal' || (isNumeric(to) && Number(to.toString()) === DECIMAL)
  if (!isDecimal) throw notImplemented('$convert to another type than decimal')
  const orElse = (value: Value) => (value === undefined ? undefined : compile(value))
  return convertTo(compile(input), orElse(onError), orElse(onNull))
}

function convertTo(
  input: Evaluate,
  onError: Evaluate | undefined,
  onNull: Evaluate | undefined,
): Evaluate {
  return (doc) => {
    const value = input(doc)
    if (value === null || value === undefined) return onNull ? onNull(doc) : null
    const converted = decimalFrom(value)
    if (converted !== undefined) return converted
    if (onError) return onError(doc)
    throw new MongoCommandError(
      'ConversionFailure',
      `Unsupported conversion from ${typeName(value)} to decimal`,
    )
  }
}

/** A decimal, as MongoDB parses it: no blanks, no hexadecimal digits. */
const DECIMAL_TEXT = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/** The operand of a conversion to decimals that ignores errors; undefined for anything else. */
export function decimalInput(expression: Value): Value {
  if (!isDoc(expression) || !isDoc(expression['$convert'])) return undefined
  const { input, to, onError, onNull = null, ...others } = expression['$convert']
  const isPlain = to === 'decimal' && onError === null && onNull === null
  return isPlain && Object.keys(others).length === 0 ? input : undefined
}

/** Undefined if the value cannot be converted. */
export function decimalFrom(value: Value): Decimal128 | undefined {
  if (isNumeric(value)) return toDecimal(value)
  if (typeof value === 'boolean') return Decimal128.fromString(value ? '1' : '0')
  if (value instanceof Date) return Decimal128.fromString(String(value.getTime()))
  if (typeof value !== 'string' || !DECIMAL_TEXT.test(value)) return undefined
  try {
    return Decimal128.fromString(value)
  } catch {
    // More digits or a larger exponent than a decimal has.
    return undefined
  }
}

function compileDateToString(operand: Value, compile: Compile): Evaluate {
  const known = ['date', 'format', 'timezone', 'onNull']
  const { date, format, timezone, onNull } = operandsOf('$dateToString', operand, known)
  if (date === undefined) {
    throw new MongoCommandError('Location18628', "Missing 'date' parameter to $dateToString")
  }
  const texts = [format, timezone].filter((each) => each !== undefined)
  if (texts.some((each) => typeof each !== 'string' || each.startsWith('$'))) {
    throw notImplemented('$dateToString with a computed format or time zone')
  }
  const write = compileDateFormat(format as string | undefined, timezone as string | undefined)
  const instant = compile(date)
  const absent = onNull === undefined ? () => null : compile(onNull)
  return (doc) => {
    const value = instant(doc)
    if (value instanceof Date) return write(value.getTime())
    if (value instanceof ObjectId) return write(value.getTimestamp().getTime())
    if (value === null || value === undefined) return absent(doc)
    throw new MongoCommandError(
      'Location16006',
      `can't convert from BSON type ${typeName(value)} to Date`,
    )
  }
}
