import { MongoCommandError, notImplemented } from '../errors.ts'
import { isTruthy } from '../values/compare.ts'
import {
  asDoc,
  type Doc,
  fieldOf,
  isArray,
  isDoc,
  setField,
  type Value,
} from '../values/document.ts'
import { compileConversion, isConversion } from './conversions.ts'
import { operatorOf } from './expression-operators.ts'

/** The value of an expression for a document; undefined if it is missing. */
export type Evaluate = (doc: Doc) => Value

/**
 * Compiles an aggregation expression: field paths, `$$ROOT`, literals, documents, arrays and
 * operators.
 * @throws CommandError (InvalidPipelineOperator) for an unknown operator
 */
export function compileExpression(expression: Value): Evaluate {
  if (typeof expression === 'string' && expression.startsWith('$')) return compilePath(expression)
  if (isArray(expression)) {
    const elements = expression.map(compileExpression)
    return (doc) => elements.map((element) => element(doc) ?? null)
  }
  if (!isDoc(expression)) return () => expression
  const names = Object.keys(expression)
  const operator = names.find((name) => name.startsWith('$'))
  if (operator === undefined) return compileFields(expression)
  if (names.length > 1) {
    throw new MongoCommandError(
      'Location15983',
      'An object representing an expression must have exactly one field',
    )
  }
  return compileOperator(operator, expression[operator])
}

function compileFields(fields: Doc): Evaluate {
  const compiled = Object.keys(fields).map((name) => {
    if (name === '')
      throw new MongoCommandError('Location40352', 'FieldPath cannot be an empty string')
    if (name.includes('.')) {
      throw new MongoCommandError(
        'Location16410',
        `FieldPath field names may not contain '.': ${name}`,
      )
    }
    return [name, compileExpression(fields[name])] as const
  })
  return (doc) => {
    const result: Doc = {}
    for (const [name, evaluate] of compiled) {
      const value = evaluate(doc)
      if (value !== undefined) setField(result, name, value)
    }
    return result
  }
}

function compilePath(text: string): Evaluate {
  if (!text.startsWith('$$')) return compileFieldPath(text.slice(1))
  const [variable, ...rest] = text.slice(2).split('.')
  if (variable === 'REMOVE') return () => undefined
  if (variable !== 'ROOT' && variable !== 'CURRENT') {
    if (variable && /^[A-Z]/.test(variable)) throw notImplemented(`the variable $$${variable}`)
    throw new MongoCommandError('Location17276', `Use of undefined variable: ${variable}`)
  }
  return rest.length === 0 ? (doc) => doc : compileFieldPath(rest.join('.'))
}

function compileFieldPath(path: string): Evaluate {
  if (path === '')
    throw new MongoCommandError('Location16872', "'$' by itself is not a valid FieldPath")
  const parts = path.split('.')
  if (parts.includes('')) {
    throw new MongoCommandError('Location15998', 'FieldPath field names may not be empty strings')
  }
  return (doc) => valueAt(doc, parts, 0)
}

/**
 * An array on the path yields an array of the values in its documents; numbers are field names
 * here.
 */
function valueAt(value: Value, parts: readonly string[], from: number): Value {
  if (from === parts.length) return value
  if (isArray(value)) {
    const found = value.map((element) => valueAt(element, parts, from))
    return found.filter((element) => element !== undefined)
  }
  const doc = asDoc(value)
  return doc ? valueAt(fieldOf(doc, parts[from]!), parts, from + 1) : undefined
}

function compileOperator(name: string, operand: Value): Evaluate {
  if (name === '$literal') return () => operand
  if (name === '$cond') return compileCond(operand)
  if (isConversion(name)) return compileConversion(name, operand, compileExpression)
  const operator = operatorOf(name)
  const operands = isArray(operand) ? operand : [operand]
  if (operands.length < operator.argsMin || operands.length > operator.argsMax) {
    throw new MongoCommandError(
      'Location16020',
      `Expression ${name} takes ${operator.argsMin} to ${operator.argsMax} arguments. ` +
        `${operands.length} were passed in.`,
    )
  }
  const args = operands.map(compileExpression)
  return (doc) => operator.apply(args.map((evaluate) => evaluate(doc)))
}

function compileCond(operand: Value): Evaluate {
  const named = isDoc(operand)
  const operands = isArray(operand)
    ? operand
    : named
      ? [operand['if'], operand['then'], operand['else']]
      : []
  if (operands.length !== 3 || (named && Object.keys(operand).length !== 3)) {
    throw new MongoCommandError('Location16020', 'Expression $cond takes exactly 3 arguments')
  }
  const [test, then, otherwise] = operands.map(compileExpression) as [Evaluate, Evaluate, Evaluate]
  return (doc) => (isTruthy(test(doc)) ? then(doc) : otherwise(doc))
}
