import { BSONRegExp } from 'bson'
import { MongoCommandError, notImplemented } from '../errors.ts'
import { equalTest, regexTest } from '../query/match-operators.ts'
import { compileElement } from '../query/matcher.ts'
import { compareValues, equalValues, typeName } from '../values/compare.ts'
import { type Doc, isArray, isDoc, type Value } from '../values/document.ts'
import { arithmetic, isNumeric, toNumber } from '../values/numeric.ts'

/** Context of an update: the time, and whether it inserts a document. */
export type UpdateContext = { readonly nowMs: number; readonly isInsert: boolean }

/** One operator on one path. */
export type Change = {
  /**
   * Returns the new value for the current one. An undefined current value is missing, an undefined
   * result removes the field.
   */
  to(current: Value, context: UpdateContext): Value
  /** Whether the operator only applies to existing paths. */
  readonly onlyExisting?: boolean
  readonly onlyInsert?: boolean
}

/**
 * Compiles one operator for one path.
 * @throws CommandError for an unknown operator or a wrong operand
 */
export function compileChange(name: string, path: string, operand: Value): Change {
  switch (name) {
    case '$set':
      return { to: () => operand }
    case '$setOnInsert':
      return { to: () => operand, onlyInsert: true }
    case '$unset':
      return { to: () => undefined, onlyExisting: true }
    case '$inc':
      return arithmeticChange('$inc', path, operand)
    case '$mul':
      return arithmeticChange('$mul', path, operand)
    case '$min':
      return extremeChange(operand, -1)
    case '$max':
      return extremeChange(operand, 1)
    case '$currentDate':
      return currentDateChange(operand)
    case '$push':
      return pushChange(path, operand)
    case '$addToSet':
      return addToSetChange(path, operand)
    case '$pop':
      return popChange(path, operand)
    case '$pull':
      return pullChange('$pull', path, pullTest(operand))
    case '$pullAll':
      return pullAllChange(path, operand)
    case '$rename':
    case '$bit':
      throw notImplemented(`the update operator ${name}`)
    default:
      throw new MongoCommandError(
        'FailedToParse',
        `Unknown modifier: ${name}. Expected a valid update modifier or pipeline-style update ` +
          'specified as an array',
      )
  }
}

function arithmeticChange(name: '$inc' | '$mul', path: string, operand: Value): Change {
  if (!isNumeric(operand)) {
    const verb = name === '$inc' ? 'increment' : 'multiply'
    throw new MongoCommandError(
      'TypeMismatch',
      `Cannot ${verb} with non-numeric argument: {${path}: <${typeName(operand)}>}`,
    )
  }
  const kind = name === '$inc' ? 'add' : 'multiply'
  return {
    to(current) {
      if (current !== undefined && !isNumeric(current)) {
        throw new MongoCommandError(
          'TypeMismatch',
          `Cannot apply ${name} to a value of non-numeric type. The field '${path}' is of ` +
            `non-numeric type ${typeName(current)}`,
        )
      }
      // Zero of the operand's type, as in MongoDB for a missing field.
      const zero = kind === 'multiply' ? arithmetic('subtract', operand, operand) : undefined
      const result = current ? arithmetic(kind, current, operand) : (zero ?? operand)
      if (result) return result
      throw new MongoCommandError(
        'BadValue',
        `Failed to apply ${name} operations to current value of '${path}': ` +
          'the result does not fit into a long',
      )
    },
  }
}

function extremeChange(operand: Value, sign: number): Change {
  return {
    to(current) {
      if (current === undefined) return operand
      return Math.sign(compareValues(operand, current)) === sign ? operand : current
    },
  }
}

function currentDateChange(operand: Value): Change {
  const type = isDoc(operand) ? operand['$type'] : operand
  if (type === 'timestamp') throw notImplemented('$currentDate with the type timestamp')
  if (type !== 'date' && typeof type !== 'boolean') {
    throw new MongoCommandError(
      'BadValue',
      "The '$type' string field is required to be 'date' or 'timestamp'",
    )
  }
  return { to: (_current, { nowMs }) => new Date(nowMs) }
}

const PUSH_MODIFIERS = ['$each', '$position', '$slice']

function pushChange(path: string, operand: Value): Change {
  const isModified = isDoc(operand) && '$each' in operand
  const modifiers: Doc = isModified ? operand : {}
  for (const name of Object.keys(modifiers)) {
    if (name === '$sort') throw notImplemented('$push with $sort')
    if (!PUSH_MODIFIERS.includes(name)) {
      throw new MongoCommandError('BadValue', `Unrecognized clause in $push: ${name}`)
    }
  }
  const added = isModified ? eachOf('$push', modifiers) : [operand]
  const position = integerOf('$position', modifiers)
  const slice = integerOf('$slice', modifiers)
  return {
    to(current) {
      const array = arrayOf(path, current)
      const at = position ?? array.length
      array.splice(at < 0 ? Math.max(0, array.length + at) : at, 0, ...added)
      if (slice === undefined) return array
      return slice < 0 ? array.slice(slice) : array.slice(0, slice)
    },
  }
}

function eachOf(name: string, modifiers: Doc): Value[] {
  const each = modifiers['$each']
  if (isArray(each)) return each
  throw new MongoCommandError(
    name === '$push' ? 'BadValue' : 'TypeMismatch',
    `The argument to $each in ${name} must be an array but it was of type: ${typeName(each)}`,
  )
}

function integerOf(name: string, modifiers: Doc): number | undefined {
  const operand = modifiers[name]
  if (operand === undefined) return undefined
  const value = isNumeric(operand) ? toNumber(operand) : Number.NaN
  if (Number.isInteger(value)) return value
  throw new MongoCommandError('BadValue', `The value for ${name} must be an integer value`)
}

/** A copy of the array at the path; empty if the field does not exist. */
function arrayOf(path: string, current: Value): Value[] {
  if (current === undefined) return []
  if (isArray(current)) return [...current]
  throw new MongoCommandError(
    'BadValue',
    `The field '${path}' must be an array but is of type ${typeName(current)}`,
  )
}

function addToSetChange(path: string, operand: Value): Change {
  const isEach = isDoc(operand) && '$each' in operand
  if (isEach && Object.keys(operand).length > 1) {
    throw new MongoCommandError('BadValue', 'Found unexpected fields after $each in $addToSet')
  }
  const added = isEach ? eachOf('$addToSet', operand) : [operand]
  return {
    to(current) {
      const array = arrayOf(path, current)
      for (const value of added) {
        if (!array.some((element) => equalValues(element, value))) array.push(value)
      }
      return array
    },
  }
}

function popChange(path: string, operand: Value): Change {
  const side = isNumeric(operand) ? toNumber(operand) : 0
  if (side !== 1 && side !== -1) {
    throw new MongoCommandError('FailedToParse', '$pop expects 1 or -1')
  }
  return {
    onlyExisting: true,
    to(current) {
      if (!isArray(current)) {
        throw new MongoCommandError(
          'TypeMismatch',
          `Path '${path}' contains an element of non-array type '${typeName(current)}'`,
        )
      }
      return side === 1 ? current.slice(0, -1) : current.slice(1)
    },
  }
}

function pullTest(operand: Value): (element: Value) => boolean {
  if (isDoc(operand)) return compileElement(operand)
  const { test } = operand instanceof BSONRegExp ? regexTest(operand) : equalTest(operand)
  return test
}

function pullChange(name: string, path: string, test: (element: Value) => boolean): Change {
  return {
    onlyExisting: true,
    to(current) {
      if (isArray(current)) return current.filter((element) => !test(element))
      throw new MongoCommandError(
        'BadValue',
        `Cannot apply ${name} to a non-array value: '${path}' is of type ${typeName(current)}`,
      )
    },
  }
}

function pullAllChange(path: string, operand: Value): Change {
  if (!isArray(operand)) {
    throw new MongoCommandError(
      'BadValue',
      `$pullAll requires an array argument but was given a ${typeName(operand)}`,
    )
  }
  const test = (element: Value) => operand.some((value) => equalValues(value, element))
  return pullChange('$pullAll', path, test)
}
