/** Conditions of a report as filters. */
import { ObjectId } from '../catalog/collections.ts'
import { type Fields, isObject } from '../domain/fields.ts'
import { amountOf, booleanOf, integerOf } from '../requests/cast-value.ts'
import { type EntityRuleError, fieldRule } from '../requests/errors.ts'
import { dateOf, fullTimestamp, relativeInstant } from '../requests/instant.ts'
import type { CycleWords } from './cycle-words.ts'
import type { ReportField } from './report-entities.ts'

const OPS = [
  'eq',
  'ne',
  'in',
  'nin',
  'lt',
  'lte',
  'gt',
  'gte',
  'between',
  'like',
  'starts_with',
  'ends_with',
  'exists',
  'in_range',
  'nin_range',
  'is_true',
  'is_false',
  'last_hours',
  'last_days',
  'last_days_include_today',
  'eq_constant',
  'ne_constant',
  'lt_constant',
  'lte_constant',
  'gt_constant',
  'gte_constant',
] as const
export type ConditionOp = (typeof OPS)[number]

export function conditionOpOf(op: unknown): ConditionOp | null {
  return OPS.find((each) => each === op) ?? null
}

export interface ReportCondition {
  /** Name of the entity of the field. */
  readonly entity: string
  readonly field: ReportField
  readonly op: ConditionOp
  readonly value: unknown
  /** Type that the caller gives, for fields without a declared one. */
  readonly hint: string
  /** Place of the value, for errors. */
  readonly where: string
}

export interface ConditionContext {
  readonly timeZone: string
  readonly nowMs: number
  readonly cycles: CycleWords
}

const LIST_MAX = 1_000
const TEXT_LENGTH_MAX = 256
const AGO_MAX = 100_000

/** The test of the value of the field. Throws `EntityRuleError`. */
export function conditionTest(condition: ReportCondition, context: ConditionContext): Fields {
  const { op, value } = condition
  const one = () => operand(condition, value, context)
  switch (op) {
    case 'eq':
    case 'ne':
    case 'in':
    case 'nin':
      return listTest(condition, context)
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return { [`$${op}`]: single(one(), condition) }
    case 'between':
      return between(condition, context)
    case 'like':
      return { $regex: escaped(condition), $options: 'i' }
    case 'starts_with':
      return { $regex: `^${escaped(condition)}` }
    case 'ends_with':
      return { $regex: `${escaped(condition)}$` }
    case 'exists':
      return { $exists: flagOf(condition) }
    case 'in_range':
      return inRange(condition, context)
    case 'nin_range':
      return { $not: inRange(condition, context) }
    case 'is_true':
      return { $eq: true }
    case 'is_false':
      return { $in: [false, null] }
    case 'last_hours':
    case 'last_days':
    case 'last_days_include_today':
      return lastTest(condition, context)
    default:
      return constantTest(condition, context)
  }
}

function refused({ where }: ReportCondition, reason: string): EntityRuleError {
  return fieldRule(where, reason)
}

/** Whether one of the values is a word for a billing cycle, which is looked up then. */
export function needsCycles({ field, op, value }: ReportCondition): boolean {
  if (op.endsWith('_constant')) return value !== 'current_time'
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  return field.kind === 'cycle' && values.some((each) => CYCLE_WORDS.includes(each))
}

const CYCLE_WORDS: readonly unknown[] = [
  'current',
  'first_unconfirmed',
  'last_confirmed',
  'confirmed',
]

/** The values that a sent value means: of a word for cycles, their keys. */
function operand(
  condition: ReportCondition,
  value: unknown,
  context: ConditionContext,
): readonly unknown[] {
  const { field } = condition
  if (field.kind === 'cycle' && CYCLE_WORDS.includes(value)) {
    return context.cycles.keys(value as 'current')
  }
  return [castTo(kindOf(condition), value, condition, context)]
}

function single(values: readonly unknown[], condition: ReportCondition): unknown {
  const [only] = values
  if (values.length === 1) return only
  throw refused(condition, 'is not one cycle, so that it cannot be compared in this way')
}

const HINTS: Readonly<Record<string, ReportField['kind']>> = {
  string: 'text',
  text: 'text',
  date: 'date',
  datetime: 'date',
  daterange: 'date',
  number: 'number',
  integer: 'number',
  float: 'number',
  decimal: 'number',
  currency: 'number',
  percentage: 'number',
  boolean: 'boolean',
}

function kindOf({ field, hint }: ReportCondition): ReportField['kind'] {
  if (field.kind !== 'any') return field.kind
  return (Object.hasOwn(HINTS, hint) ? HINTS[hint] : undefined) ?? 'any'
}

function castTo(
  kind: ReportField['kind'],
  value: unknown,
  condition: ReportCondition,
  context: ConditionContext,
): unknown {
  switch (kind) {
    case 'date': {
      const date = dateOf(value, context)
      if (date !== null) return date
      throw refused(condition, 'must be a date')
    }
    case 'number': {
      const number = amountOf(value)?.toNumber() ?? null
      if (number !== null && Number.isFinite(number)) return number
      throw refused(condition, 'must be a number')
    }
    case 'boolean': {
      const flag = booleanOf(value)
      if (flag !== null) return flag
      throw refused(condition, 'must be true or false')
    }
    case 'id': {
      const hex = isObject(value) ? value['$id'] : value
      if (typeof hex === 'string' && /^[\da-f]{24}$/i.test(hex)) return new ObjectId(hex)
      throw refused(condition, 'must be an id of 24 hexadecimal digits')
    }
    case 'any':
      if (typeof value === 'boolean' || typeof value === 'number') return value
      return typeof value === 'string'
        ? (fullTimestamp(value) ?? shortText(value, condition))
        : shortText(value, condition)
    default:
      return shortText(value, condition)
  }
}

function shortText(value: unknown, condition: ReportCondition): string {
  const isText = typeof value === 'string' || typeof value === 'number'
  const text = isText ? String(value) : ''
  if (isText && text.length <= TEXT_LENGTH_MAX && !text.includes('\0')) return text
  throw refused(condition, `must be a text of at most ${TEXT_LENGTH_MAX} characters`)
}

/** `eq` and `ne` of a word for several cycles are tests of lists. */
function listTest(condition: ReportCondition, context: ConditionContext): Fields {
  const { op, value } = condition
  const isList = op === 'in' || op === 'nin'
  // Clients send a list as text with commas, too.
  const text =
    isList && typeof value === 'string' ? value.split(',').map((each) => each.trim()) : value
  const list: readonly unknown[] = isList && Array.isArray(text) ? text : [text]
  if (list.length > LIST_MAX) throw refused(condition, `must have at most ${LIST_MAX} members`)
  const values = list.flatMap((each) => operand(condition, each, context))
  const isPositive = op === 'eq' || op === 'in'
  if (!isList && values.length === 1) return { [isPositive ? '$eq' : '$ne']: values[0] }
  return { [isPositive ? '$in' : '$nin']: values }
}

/** `[low, high]`, or an object of `min` and `max`, or of `from` and `to`; both included. */
function between(condition: ReportCondition, context: ConditionContext): Fields {
  const { value } = condition
  const bounds = isObject(value)
    ? [value['min'] ?? value['from'], value['max'] ?? value['to']]
    : value
  if (!Array.isArray(bounds) || bounds.length !== 2) {
    throw refused(condition, 'must have two values: min and max')
  }
  const [low, high] = bounds.map((each) => single(operand(condition, each, context), condition))
  return { $gte: low, $lte: high }
}

/** The field is a list of periods. */
function inRange(condition: ReportCondition, context: ConditionContext): Fields {
  const at = castTo('date', condition.value, condition, context)
  return { $elemMatch: { from: { $lte: at }, to: { $gt: at } } }
}

function escaped(condition: ReportCondition): string {
  const { field, value } = condition
  if (field.kind !== 'text' && field.kind !== 'cycle' && field.kind !== 'any') {
    throw refused(condition, `searches a text, but ${field.path} is a ${field.kind}`)
  }
  const text = shortText(value, condition)
  if (text === '') throw refused(condition, 'must not be empty')
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

function flagOf(condition: ReportCondition): boolean {
  const { value } = condition
  const flag = value === undefined || value === null || value === '' ? true : booleanOf(value)
  if (flag !== null) return flag
  throw refused(condition, 'must be true or false')
}

const HOUR_MS = 3_600_000

/** Whole days before today, in the time zone of the installation, or hours before now. */
function lastTest(condition: ReportCondition, { timeZone, nowMs }: ConditionContext): Fields {
  const { op, value, field } = condition
  if (field.kind !== 'date' && field.kind !== 'any') {
    throw refused(condition, `is a time, but ${field.path} is a ${field.kind}`)
  }
  const count = integerOf(value)
  if (count === null || count < 1 || count > AGO_MAX) {
    throw refused(condition, `must be an integer from 1 to ${AGO_MAX}`)
  }
  if (op === 'last_hours') {
    return { $gte: new Date(nowMs - count * HOUR_MS), $lte: new Date(nowMs) }
  }
  const day = (before: number) =>
    new Date(relativeInstant(`today -${before} days`, timeZone, nowMs) ?? 0)
  if (op === 'last_days') return { $gte: day(count), $lt: day(0) }
  return { $gte: day(count), $lte: new Date(nowMs) }
}

const CONSTANTS = [
  'current_time',
  'current_start',
  'current_end',
  'first_unconfirmed_start',
  'first_unconfirmed_end',
  'last_confirmed_start',
  'last_confirmed_end',
] as const

function constantTest(condition: ReportCondition, { nowMs, cycles }: ConditionContext): Fields {
  const { op, value, field } = condition
  if (field.kind !== 'date' && field.kind !== 'any') {
    throw refused(condition, `is a time, but ${field.path} is a ${field.kind}`)
  }
  const name = CONSTANTS.find((each) => each === value)
  if (name === undefined) throw refused(condition, `must be one of ${CONSTANTS.join(', ')}`)
  const test = `$${op.replace('_constant', '')}`
  if (name === 'current_time') return { [test]: new Date(nowMs) }
  const [, word = '', edge] = /^(\w+)_(start|end)$/.exec(name) ?? []
  const at = cycles.edge(word as 'current', edge === 'start' ? 'start' : 'end')
  // Without a confirmed cycle nothing can be compared with it.
  return at === null ? { $in: [] } : { [test]: at }
}
