import { BSONRegExp } from 'bson'
import { MongoCommandError } from '../errors.ts'
import { isTruthy } from '../values/compare.ts'
import { asDoc, type Doc, isArray, isDoc, type Value } from '../values/document.ts'
import { visitPath } from '../values/path.ts'
import { compileExpression } from './expression.ts'
import { compileOperator, equalTest, regexTest, type ValueTest } from './match-operators.ts'

/** Whether a document satisfies a filter. */
export type DocumentMatcher = (doc: Doc) => boolean

/**
 * Compiles a query filter.
 * @throws CommandError (BadValue) for an unknown operator or a wrong operand
 */
export function compileFilter(filter: Doc): DocumentMatcher {
  const tests: DocumentMatcher[] = []
  for (const name of Object.keys(filter)) {
    const operand = filter[name]
    const test = name.startsWith('$') ? compileLogical(name, operand) : compileField(name, operand)
    if (test) tests.push(test)
  }
  const [only] = tests
  if (tests.length === 1 && only) return only
  return (doc) => tests.every((test) => test(doc))
}

function compileLogical(name: string, operand: Value): DocumentMatcher | undefined {
  switch (name) {
    case '$and': {
      const all = clauses(name, operand)
      return (doc) => all.every((test) => test(doc))
    }
    case '$or': {
      const any = clauses(name, operand)
      return (doc) => any.some((test) => test(doc))
    }
    case '$nor': {
      const none = clauses(name, operand)
      return (doc) => !none.some((test) => test(doc))
    }
    case '$expr': {
      const evaluate = compileExpression(operand)
      return (doc) => isTruthy(evaluate(doc))
    }
    case '$comment':
      return undefined
    default:
      throw new MongoCommandError('BadValue', `unknown top level operator: ${name}`)
  }
}

function clauses(name: string, operand: Value): DocumentMatcher[] {
  if (!isArray(operand)) throw new MongoCommandError('BadValue', `${name} must be an array`)
  if (operand.length === 0) {
    throw new MongoCommandError('BadValue', '$and/$or/$nor must be a nonempty array')
  }
  return operand.map((clause) => {
    if (!isDoc(clause)) {
      throw new MongoCommandError('BadValue', '$or/$and/$nor entries need to be full objects')
    }
    return compileFilter(clause)
  })
}

/** Whether a value is a document of operators like `{ $gt: 1 }`, and not a literal value. */
export function isOperatorDoc(value: Value): value is Doc {
  if (!isDoc(value)) return false
  const [first] = Object.keys(value)
  return first?.startsWith('$') === true
}

function compileField(path: string, operand: Value): DocumentMatcher {
  const parts = path.split('.')
  if (!isOperatorDoc(operand)) return atPath(parts, implicitTest(operand))
  const tests = compileOperators(operand).map((test) => atPath(parts, test))
  const [only] = tests
  if (tests.length === 1 && only) return only
  return (doc) => tests.every((test) => test(doc))
}

function implicitTest(operand: Value): ValueTest {
  return operand instanceof BSONRegExp ? regexTest(operand) : equalTest(operand)
}

/** The tests of a document of operators: all must match, each possibly by a different value. */
function compileOperators(operators: Doc): ValueTest[] {
  const tests: ValueTest[] = []
  for (const name of Object.keys(operators)) {
    const test = compileOne(name, operators)
    if (test) tests.push(test)
  }
  return tests
}

function compileOne(name: string, operators: Doc): ValueTest | undefined {
  const operand = operators[name]
  if (name === '$not') return notTest(operand)
  if (name === '$elemMatch') return elemMatchTest(operand)
  if (name === '$all') return allTest(operand)
  return compileOperator(name, operators)
}

function atPath(parts: readonly string[], test: ValueTest): DocumentMatcher {
  if (test.negated) {
    return (doc) => !visitPath(doc, parts, (value) => holds(test, value))
  }
  return (doc) => visitPath(doc, parts, (value) => holds(test, value))
}

/** A test matches an array if it matches the array itself or one of its elements. */
function holds(test: ValueTest, value: Value): boolean {
  if (!isArray(value)) return test.test(value)
  if (test.reach !== 'whole' && value.some((element) => test.test(element))) return true
  return test.reach !== 'elements' && test.test(value)
}

function notTest(operand: Value): ValueTest {
  const inner =
    operand instanceof BSONRegExp
      ? [regexTest(operand)]
      : isOperatorDoc(operand)
        ? compileOperators(operand)
        : undefined
  if (!inner) throw new MongoCommandError('BadValue', '$not needs a regex or a document')
  // By De Morgan: a value is refused if it satisfies all inner operators.
  const all = (value: Value) =>
    inner.every((test) => (test.negated ? !holds(test, value) : holds(test, value)))
  return { test: all, negated: true, reach: 'whole' }
}

function elemMatchTest(operand: Value): ValueTest {
  if (!isDoc(operand)) throw new MongoCommandError('BadValue', '$elemMatch needs an Object')
  const element = compileElement(operand)
  return { test: (value) => isArray(value) && value.some(element), reach: 'whole' }
}

/** The condition of `$elemMatch` or `$pull` on one element of an array. */
export function compileElement(condition: Doc): (element: Value) => boolean {
  const [first] = Object.keys(condition)
  const logical = first === '$and' || first === '$or' || first === '$nor' || first === '$expr'
  if (isOperatorDoc(condition) && !logical) {
    const tests = compileOperators(condition)
    return (element) =>
      tests.every((test) => (test.negated ? !holds(test, element) : holds(test, element)))
  }
  const matches = compileFilter(condition)
  return (element) => {
    const doc = isArray(element) ? { ...element } : asDoc(element)
    return doc !== undefined && matches(doc as Doc)
  }
}

function allTest(operand: Value): ValueTest {
  if (!isArray(operand)) throw new MongoCommandError('BadValue', '$all needs an array')
  const tests = operand.map((element) => {
    if (isOperatorDoc(element)) {
      if (!('$elemMatch' in element)) {
        throw new MongoCommandError('BadValue', 'no $ expressions in $all')
      }
      return elemMatchTest(element['$elemMatch'])
    }
    return implicitTest(element)
  })
  const all = (value: Value) => tests.length > 0 && tests.every((test) => holds(test, value))
  return { test: all, reach: 'whole' }
}
