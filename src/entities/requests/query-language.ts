/**
 * Casts `query` by the definition of its action: the filter contains only declared fields and the
 * operators below, with operands of the declared types. Everything else is refused with its name,
 * because a filter with ignored conditions would match unintended documents.
 */
import type { Fields } from '../../domain/fields.ts'
import { isCheap } from '../../rating/rule-regex.ts'
import {
  booleanOf,
  type CastContext,
  castScalar,
  checkText,
  integerOf,
  scalarOf,
} from '../../requests/cast-value.ts'
import type { TimeContext } from '../../requests/instant.ts'
import { declaredAt, unknownReason, unsafeName } from '../../requests/names.ts'
import type { Param, Params } from '../../requests/param.ts'
import { FieldProblems } from '../../requests/problems.ts'
import { badKey } from '../../requests/stored-value.ts'

/** Operators that a filter may contain. */
export const OPERATORS = [
  '$and',
  '$or',
  '$not',
  '$in',
  '$nin',
  '$eq',
  '$ne',
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$exists',
  '$regex',
  '$options',
  '$elemMatch',
  '$size',
  '$all',
] as const

/** A filter for the driver. */
export type Filter = Record<string, unknown>

/**
 * The filter for `query`. Throws `EntityRuleError` or `InvalidFieldsError` with all errors:
 * undeclared keys, unknown operators and values of a wrong type.
 */
export function castQuery(params: Params, raw: Fields, context: TimeContext): Filter {
  const problems = new FieldProblems()
  const reason = sizeReason(raw)
  if (reason !== null) {
    problems.invalid('query', reason)
    problems.throwIfAny()
  }
  for (const [name, param] of Object.entries(params)) {
    const value = Object.hasOwn(raw, name) ? raw[name] : undefined
    const isMissing = value === undefined || value === null || value === ''
    if (param.mandatory === true && isMissing) problems.missing(`query.${name}`, 'declared')
  }
  const filter = conditionsOf(raw, 'query', { params, ...context, problems })
  problems.throwIfAny()
  return filter
}

interface QueryContext extends CastContext {
  readonly params: Params
}

/** An object of conditions on fields, `$and` and `$or`. */
function conditionsOf(raw: Fields, path: string, querying: QueryContext): Filter {
  const { params, problems } = querying
  const filter: Filter = {}
  for (const [name, value] of Object.entries(raw)) {
    const at = `${path}.${name}`
    const param = declaredAt(params, name)
    if (name === '$and' || name === '$or') filter[name] = alternativesOf(value, at, querying)
    else if (param !== undefined) filter[name] = conditionOf(name, param, value, at, querying)
    else if (name.startsWith('$'))
      problems.invalid(at, 'is not an operator that is allowed here', 'unknown')
    else if (problems.isFull) problems.invalid(at, 'is not known here', 'unknown')
    else {
      const unsafe = unsafeName(name)
      if (unsafe !== null) problems.invalid(at, unsafe)
      else problems.invalid(at, unknownReason(name, Object.keys(params)), 'unknown')
    }
  }
  return filter
}

function alternativesOf(value: unknown, path: string, querying: QueryContext): readonly Filter[] {
  if (!Array.isArray(value) || value.length === 0) {
    querying.problems.invalid(path, 'must be a list of conditions that is not empty')
    return []
  }
  return value.map((member, index) => {
    const at = `${path}.${index}`
    if (isObject(member)) return conditionsOf(member, at, querying)
    querying.problems.invalid(at, 'must be an object of conditions')
    return {}
  })
}

/** The condition on a field: a value, or an object of operators. */
function conditionOf(
  name: string,
  param: Param,
  value: unknown,
  path: string,
  querying: QueryContext,
): unknown {
  const { problems } = querying
  if (isOperators(param, value)) return operatorsOf(name, param, value, path, querying)
  if (param.type === 'datetimearray') {
    problems.invalid(path, `must be an object of operators, such as {"$gte": "2026-01-31"}`)
    return undefined
  }
  if (value === null) {
    problems.invalid(path, 'must not be null; {"$eq": null} finds what has no value')
    return undefined
  }
  if (param.type !== 'array') return operandOf(param, value, path, querying)
  // Any of the values: a list that has to equal the whole value would match almost nothing.
  if (Array.isArray(value)) return { $in: listOf(param, value, path, querying) }
  const operand = operandOf(param, value, path, querying)
  return isObject(value) ? operand : { $in: [operand] }
}

/** `{"$id": hex}`, the format of ids in responses, is a value. */
function isOperators(param: Param, value: unknown): value is Fields {
  if (!isObject(value)) return false
  const keys = Object.keys(value)
  if (param.type === 'dbid' && keys.join() === '$id') return false
  return keys.some((key) => key.startsWith('$'))
}

type Operator = (
  name: string,
  param: Param,
  value: unknown,
  path: string,
  q: QueryContext,
) => unknown

const equal: Operator = (_name, param, value, path, querying) =>
  value === null ? null : operandOf(param, value, path, querying)
const ordered: Operator = (_name, param, value, path, querying) =>
  operandOf(param, value, path, querying)
const listed: Operator = (_name, param, value, path, querying) => {
  if (Array.isArray(value)) return listOf(param, value, path, querying)
  querying.problems.invalid(path, 'must be a list')
  return []
}

/** Operators of conditions on a field. */
const FIELD_OPERATORS: Readonly<Record<string, Operator>> = {
  $eq: equal,
  $ne: equal,
  $gt: ordered,
  $gte: ordered,
  $lt: ordered,
  $lte: ordered,
  $in: listed,
  $nin: listed,
  $all: listed,
  $exists: (_name, _param, value, path, { problems }) => {
    const result = booleanOf(value)
    if (result === null) problems.invalid(path, 'must be true or false')
    return result
  },
  $not: (name, param, value, path, querying) => {
    if (isOperators(param, value)) return operatorsOf(name, param, value, path, querying)
    querying.problems.invalid(path, 'must be an object of operators')
    return {}
  },
  $regex: (_name, param, value, path, { problems }) => {
    const type = scalarOf(param)
    if (type === null || type === 'string' || type === 'email') return value
    problems.invalid(path, `cannot be searched in a field of type ${type}`)
    return undefined
  },
  $options: (_name, _param, value) => value,
  $size: (_name, param, value, path, { problems }) => {
    const size = integerOf(value)
    if (isList(param) && size !== null && size >= 0) return size
    problems.invalid(path, isList(param) ? 'must be an integer from 0' : 'is only for lists')
    return undefined
  },
  $elemMatch: (name, param, value, path, querying) => {
    if (!isList(param) || !isObject(value) || Object.keys(value).length === 0) {
      querying.problems.invalid(path, 'must be conditions on the members of a list')
      return {}
    }
    if (isOperators(param, value)) return operatorsOf(name, param, value, path, querying)
    return membersOf(name, value, path, querying)
  },
}

function operatorsOf(
  name: string,
  param: Param,
  raw: Fields,
  path: string,
  querying: QueryContext,
) {
  const { problems } = querying
  const result: Filter = {}
  for (const [operator, value] of Object.entries(raw)) {
    const at = `${path}.${operator}`
    if (Object.hasOwn(FIELD_OPERATORS, operator)) {
      result[operator] = FIELD_OPERATORS[operator]?.(name, param, value, at, querying)
    } else if (operator.startsWith('$')) {
      problems.invalid(at, 'is not an operator that is allowed here', 'unknown')
    } else {
      problems.invalid(at, 'is mixed with operators')
    }
  }
  if ('$regex' in result || '$options' in result) {
    const reason = badExpression(raw['$regex'], raw['$options'])
    const code = raw['$regex'] === undefined ? 'missing' : 'invalid'
    if (reason !== null) problems.invalid(`${path}.$regex`, reason, code)
  }
  return result
}

/** Conditions on the members of a list; declared names start with the name of the list. */
function membersOf(name: string, raw: Fields, path: string, querying: QueryContext): Filter {
  const result: Filter = {}
  for (const [key, value] of Object.entries(raw)) {
    const inner = `${name}.${key}`
    const param = key.startsWith('$') ? undefined : declaredAt(querying.params, inner)
    const at = `${path}.${key}`
    if (param !== undefined) result[key] = conditionOf(inner, param, value, at, querying)
    else querying.problems.invalid(at, `is not known: '${inner}' is not declared`, 'unknown')
  }
  return result
}

function listOf(param: Param, list: readonly unknown[], path: string, querying: QueryContext) {
  return list.map((member, index) =>
    member === null ? null : operandOf(param, member, `${path}.${index}`, querying),
  )
}

/** A value to compare with, cast to the type of its field. */
function operandOf(param: Param, value: unknown, path: string, querying: QueryContext): unknown {
  const { problems } = querying
  const type = scalarOf(param)
  const isWhole = param.type === 'array' && isObject(value) && type !== 'datetime'
  if (type !== null && !isWhole) {
    const result = castScalar(type, value, path, querying)
    if (result !== undefined) checkText(param, result, path, problems)
    return shortOperand(result, path, problems)
  }
  if (param.type === 'generated') problems.invalid(path, 'cannot be searched by')
  return plainOperand(value, path, problems)
}

/** A whole value in its stored form, without operators. */
function plainOperand(value: unknown, path: string, problems: FieldProblems): unknown {
  if (Array.isArray(value)) {
    return value.map((member, index) => plainOperand(member, `${path}.${index}`, problems))
  }
  if (!isObject(value)) return shortOperand(value, path, problems)
  const result: Filter = {}
  for (const [key, member] of Object.entries(value)) {
    const at = `${path}.${key}`
    const reason = badKey(key)
    if (reason !== null) problems.invalid(at, reason)
    else result[key] = plainOperand(member, at, problems)
  }
  return result
}

/** Not every store uses an index for longer texts. */
const TEXT_BYTES_MAX = 1024

function shortOperand(value: unknown, path: string, problems: FieldProblems): unknown {
  if (typeof value === 'string' && Buffer.byteLength(value) > TEXT_BYTES_MAX) {
    problems.invalid(path, `must have at most ${TEXT_BYTES_MAX} bytes`)
  }
  return value
}

function isList(param: Param): boolean {
  return param.type === 'array' || param.type === 'json'
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Limits on the size of a query, checked before anything else. */
const DEPTH_MAX = 8
const MEMBERS_MAX = 1_000
const NODES_MAX = 10_000

/**
 * Why a query is refused; null if it is valid. The depth of objects does not include the lists
 * between them.
 */
function sizeReason(query: unknown): string | null {
  return sizeProblem(query, 1, 1, { nodes: NODES_MAX })
}

function sizeProblem(
  value: unknown,
  objects: number,
  lists: number,
  remaining: { nodes: number },
): string | null {
  remaining.nodes -= 1
  if (remaining.nodes < 0) return `has more than ${NODES_MAX} values`
  if (typeof value !== 'object' || value === null) return null
  const isList = Array.isArray(value)
  if ((isList ? lists : objects) > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels`
  if (isList && value.length > MEMBERS_MAX) {
    return `has a list of more than ${MEMBERS_MAX} members`
  }
  for (const member of Object.values(value)) {
    const reason = isList
      ? sizeProblem(member, objects, lists + 1, remaining)
      : sizeProblem(member, objects + 1, 1, remaining)
    if (reason !== null) return reason
  }
  return null
}

// Regular expressions must run in bounded time in the store.
const REGEX_LENGTH_MAX = 256
const REGEX_OPTIONS = /^[ims]*$/
/** Syntax that JavaScript accepts, but PCRE, which stores use, does not. */
const UNKNOWN_TO_PCRE = /\\u|\[\^?\]/

/** Why `$regex` with its `$options` is refused; null if it is valid. */
function badExpression(expression: unknown, options: unknown = ''): string | null {
  if (expression === undefined) return 'is missing, but $options is given'
  if (typeof expression !== 'string') return 'must be a text'
  if (expression.length > REGEX_LENGTH_MAX)
    return `must have at most ${REGEX_LENGTH_MAX} characters`
  if (expression.includes('\0')) return 'must have no zero byte'
  if (typeof options !== 'string' || !REGEX_OPTIONS.test(options))
    return 'has $options other than i, m, s'
  const flags = [...new Set(options)].join('')
  try {
    new RegExp(expression, flags)
  } catch {
    return 'is not a regular expression'
  }
  if (UNKNOWN_TO_PCRE.test(expression)) return 'has \\u or an empty class, which stores do not know'
  return isCheap(expression, flags) ? null : 'cannot be run in bounded time'
}
