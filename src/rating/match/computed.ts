/**
 * The value of a usage that a filter compares with the rate: a field, a date part, or a value
 * computed from several fields.
 */
import {
  arrayAt,
  FieldError,
  type Fields,
  isUnset,
  objectAt,
  oneOfAt,
  textAt,
} from '../../domain/fields.ts'
import { compileRegex } from '../rule-regex.ts'
import { compareTexts, textOf } from './compare.ts'
import { DATE_PARTS, datePart, instantFrom } from './date-part.ts'
import { EVENT_TIME, readerOf, type UsageFields } from './usage-fields.ts'

/** The value, empty if it is absent; null if a required condition is not met. */
export type LineValue = (usage: UsageFields, atMs: number) => string | null

type Text = (usage: UsageFields, atMs: number) => string
type Test = (usage: UsageFields, atMs: number) => boolean

/** A value, and the names of the fields that it reads. */
export interface CompiledValue {
  readonly value: LineValue
  readonly reads: readonly string[]
}

const COMPUTED = 'computed'

/** Compiles `line_key` of a filter with its `computed` and `preFunction`. Throws `FieldError`. */
export function compileLineValue(filter: Fields, path: string): CompiledValue {
  const name = textAt(filter['line_key'], `${path}.line_key`)
  if (name !== COMPUTED) {
    if (!isUnset(filter[COMPUTED])) {
      throw new FieldError(`${path}.computed`, "needs line_key 'computed'")
    }
    return { value: compileField({ ...filter, key: name }, path), reads: [name] }
  }
  if (!isUnset(filter['preFunction'])) {
    throw new FieldError(`${path}.preFunction`, 'belongs to a key of computed.line_keys')
  }
  return compileComputed(filter[COMPUTED], `${path}.computed`)
}

/** A field by name; of it the date part, if given, without the matches of the regex. */
function compileField(line: Fields, path: string): Text {
  const name = line['key'] as string
  const isEventTime = name === EVENT_TIME
  const read = readerOf(name)
  let text: Text = isEventTime ? (_, atMs) => String(atMs / 1000) : (usage) => read(usage) ?? ''
  if (!isUnset(line['preFunction'])) {
    const part = oneOfAt(line['preFunction'], `${path}.preFunction`, DATE_PARTS)
    text = (usage, atMs) => {
      const value = isEventTime ? undefined : read(usage)
      const instant = isEventTime ? atMs : instantFrom(value ?? '', usage.timeZone)
      return instant === null ? '' : datePart(part, usage.timeZone, instant)
    }
  }
  if (isUnset(line['regex'])) return text
  const regex = compileRegex(line['regex'], `${path}.regex`)
  const whole = text
  return (usage, atMs) => regex.clear(whole(usage, atMs))
}

export const COMPUTED_KEYS = ['type', 'line_keys', 'operator', 'must_met', 'projection']
const LINE_KEYS = ['key', 'regex', 'preFunction']

function compileComputed(document: unknown, path: string): CompiledValue {
  const computed = objectAt(document, path, COMPUTED_KEYS)
  const kind = isUnset(computed['type'])
    ? 'regex'
    : oneOfAt(computed['type'], `${path}.type`, ['regex', 'condition'])
  const lines = arrayAt(computed['line_keys'], `${path}.line_keys`)
  const reads: string[] = []
  const fieldAt = (index: number): Text => {
    const at = `${path}.line_keys.${index}`
    const line = objectAt(lines[index], at, LINE_KEYS)
    reads.push(textAt(line['key'], `${at}.key`))
    return compileField(line, at)
  }
  if (lines.length > 2) throw new FieldError(`${path}.line_keys`, 'must have one or two fields')
  if (kind === 'regex') return { value: fieldAt(0), reads }
  const isMet = compileCondition(computed, lines, path, fieldAt)
  const projections = isUnset(computed['projection'])
    ? {}
    : objectAt(computed['projection'], `${path}.projection`, ['on_true', 'on_false'])
  const project = (name: 'on_true' | 'on_false') =>
    compileProjection(projections[name], `${path}.projection.${name}`, name === 'on_true', reads)
  const [onTrue, onFalse] = [project('on_true'), project('on_false')]
  const mustMet = mustMetAt(computed['must_met'], `${path}.must_met`)
  const value: LineValue = (usage, atMs) => {
    if (isMet(usage, atMs)) return onTrue(usage, atMs)
    return mustMet ? null : onFalse(usage, atMs)
  }
  return { value, reads }
}

function mustMetAt(value: unknown, path: string): boolean {
  if (isUnset(value)) return false
  if (typeof value === 'boolean') return value
  throw new FieldError(path, 'must be true or false')
}

const COMPARISONS: Readonly<Record<string, (one: string, other: string) => boolean>> = {
  $eq: (one, other) => compareTexts(one, other) === 0,
  $ne: (one, other) => compareTexts(one, other) !== 0,
  $gt: (one, other) => isOrdered(one, other) && compareTexts(one, other) > 0,
  $gte: (one, other) => isOrdered(one, other) && compareTexts(one, other) >= 0,
  $lt: (one, other) => isOrdered(one, other) && compareTexts(one, other) < 0,
  $lte: (one, other) => isOrdered(one, other) && compareTexts(one, other) <= 0,
  $in: isListed,
  $nin: (one, other) => !isListed(one, other),
}
const UNARY = ['$exists', '$existsFalse', '$isTrue', '$isFalse']
const OPERATORS = [...Object.keys(COMPARISONS), '$regex', ...UNARY]

/** Absent values have no order. */
function isOrdered(one: string, other: string): boolean {
  return one !== '' && other !== ''
}

/** Whether a value is in a list separated by commas. */
function isListed(one: string, list: string): boolean {
  return list.split(',').some((item) => compareTexts(one, item.trim()) === 0)
}

function compileCondition(
  computed: Fields,
  lines: readonly unknown[],
  path: string,
  fieldAt: (index: number) => Text,
): Test {
  const operator = oneOfAt(computed['operator'], `${path}.operator`, OPERATORS)
  const first = fieldAt(0)
  if (operator === '$exists' || operator === '$existsFalse') {
    const name = (lines[0] as Fields)['key'] as string
    const read = readerOf(name)
    const isThere = (usage: UsageFields) => name === EVENT_TIME || read(usage) !== undefined
    return operator === '$exists' ? isThere : (usage) => !isThere(usage)
  }
  if (operator === '$isTrue' || operator === '$isFalse') {
    const expected = operator === '$isTrue'
    return (usage, atMs) => !/^(?:|0|false)$/i.test(first(usage, atMs)) === expected
  }
  if (operator === '$regex') {
    // The second key is the expression itself; an empty one holds for everything.
    const at = `${path}.line_keys.1`
    const second = lines[1] === undefined ? {} : objectAt(lines[1], at, LINE_KEYS)
    const regex = compileRegex(second['key'] ?? '', `${at}.key`)
    return (usage, atMs) => regex.test(first(usage, atMs))
  }
  const second = fieldAt(1)
  const compare = COMPARISONS[operator] as (one: string, other: string) => boolean
  return (usage, atMs) => compare(first(usage, atMs), second(usage, atMs))
}

const PROJECTION_KEYS = ['key', 'value', 'regex']

function compileProjection(
  document: unknown,
  path: string,
  result: boolean,
  reads: string[],
): Text {
  if (isUnset(document)) return () => ''
  const projection = objectAt(document, path, PROJECTION_KEYS)
  if (isUnset(projection['key'])) return () => ''
  const key = textAt(projection['key'], `${path}.key`)
  if (key === 'condition_result') return () => String(result)
  if (key === 'hard_coded') {
    const value = isUnset(projection['value']) ? '' : textOf(projection['value'])
    if (value === undefined) throw new FieldError(`${path}.value`, 'must be a text or a number')
    return () => value
  }
  reads.push(key)
  return compileField(projection, path)
}
