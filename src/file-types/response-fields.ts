/** Compiles one entry of `response.fields`: name and value of an answer field. */
import type { ServiceOutcome } from '../domain/charge-outcome.ts'
import { FieldError, type Fields, isObject, isUnset, objectAt, textAt } from '../domain/fields.ts'
import {
  type AnswerFieldName,
  answerFields,
  answerMethods,
  balanceFields,
  fieldNeeds,
  hasParts,
  partOf,
  volumeFields,
} from './answer-fields.ts'
import { compileConditions } from './conditions.ts'
import {
  type AnswerReader,
  type AnswerSource,
  type AnswerTest,
  type AnswerValue,
  type Message,
  NumberText,
} from './file-type.ts'
import { answerValueOf } from './message-values.ts'
import { pathAt } from './paths.ts'
import { fromBaseUnits, isDecimalUnit, unitAt } from './units.ts'

export interface ResponseField {
  /** Names of the enclosing groups, then its own. */
  names: readonly string[]
  read: AnswerReader
  /** Whether another entry may provide the value of the same name if its conditions do not hold. */
  isConditional: boolean
  /** Whether the field or its conditions read the balances. */
  isBalances: boolean
  /** See `ResponseNode.needs`. */
  needs: AnswerTest | undefined
}

export const RESPONSE_FIELD_KEYS = [
  'response_field_name',
  'row_field_name',
  'constant',
  'default_value',
  'conditions',
  'unit',
  'usaget',
]

/** Throws `FieldError` with the path of an invalid value. */
export function compileResponseField(document: unknown, path: string): ResponseField {
  const field = objectAt(document, path, RESPONSE_FIELD_KEYS)
  const names = namesAt(field['response_field_name'], `${path}.response_field_name`)
  const { usaget } = field
  const read = withDefault(sourceOf(field, path), field, path)
  if (!isUnset(usaget)) return partField(field, names, read, path)
  const isBalances = readsBalances(field)
  const needs = needsOf(field)
  const { conditions } = field
  if (conditions === undefined || conditions === null) {
    return { names, read, isConditional: false, isBalances, needs }
  }
  const holds = compileConditions(conditions, `${path}.conditions`, conditionReader)
  const readIf: AnswerReader = (answer, service, entry) =>
    holds({ answer, service, entry }) ? read(answer, service, entry) : undefined
  const test = needs ?? conditionNeeds(conditions)
  return {
    names,
    read: test === undefined ? readIf : readWith(test, readIf),
    isConditional: true,
    isBalances,
    needs: test,
  }
}

function readsBalances({ row_field_name, conditions }: Fields): boolean {
  const names = Array.isArray(conditions)
    ? conditions.map((each) => (isObject(each) ? (each['field_name'] ?? each['src_field']) : ''))
    : []
  return [row_field_name, ...names].some((name) => balanceFields.has(String(name)))
}

/** A field of a part of the service, by usage type; omitted if the service has no such part. */
function partField(
  { usaget, conditions }: Readonly<Record<string, unknown>>,
  names: readonly string[],
  read: AnswerReader,
  path: string,
): ResponseField {
  const partUsaget = textAt(usaget, `${path}.usaget`)
  const holds = isUnset(conditions)
    ? () => true
    : compileConditions(conditions, `${path}.conditions`, conditionReader)
  const readPart: AnswerReader = (answer, service, entry) => {
    const part = partOf(answer, service, partUsaget)
    if (part === null || !holds({ answer, service: part, entry })) return undefined
    return read(answer, part, entry)
  }
  const readIf = readWith(hasParts, readPart)
  return { names, read: readIf, isConditional: true, isBalances: false, needs: hasParts }
}

/** Skips the conditions if the value is absent anyway. */
function readWith(needs: AnswerTest, read: AnswerReader): AnswerReader {
  return (answer, service, entry) =>
    needs(answer, service) ? read(answer, service, entry) : undefined
}

/** Only these operators can match an absent value. */
const MET_BY_NOTHING = /^\$?(?:ne|nin|exists)$/

/** Precondition of a condition, and thus of the whole field. */
function conditionNeeds(conditions: unknown): AnswerTest | undefined {
  for (const condition of Array.isArray(conditions) ? conditions : []) {
    if (!isObject(condition) || MET_BY_NOTHING.test(String(condition['op']))) continue
    const name = condition['field_name'] ?? condition['src_field']
    if (typeof name !== 'string' || !Object.hasOwn(fieldNeeds, name)) continue
    return fieldNeeds[name as AnswerFieldName]
  }
  return undefined
}

/** A field with a default value has no precondition. */
function needsOf(field: Readonly<Record<string, unknown>>): AnswerTest | undefined {
  const { row_field_name: row, default_value: value } = field
  if (typeof row !== 'string' || !Object.hasOwn(fieldNeeds, row)) return undefined
  return value === undefined || value === null ? fieldNeeds[row as AnswerFieldName] : undefined
}

const NAME = /^[A-Za-z0-9_:@-]+$/

/** Splits a dotted name. Numbers are rejected: they would be list indexes. */
export function namesAt(value: unknown, path: string): readonly string[] {
  const names = textAt(value, path).split('.')
  for (const name of names) {
    if (!NAME.test(name)) {
      throw new FieldError(
        path,
        'must be names of letters, digits, _, -, : and @ with dots between',
      )
    }
    if (/^\d+$/.test(name)) throw new FieldError(path, `must not have a number as a name: ${name}`)
  }
  return names
}

function sourceOf(field: Readonly<Record<string, unknown>>, path: string): AnswerReader {
  const row = field['row_field_name']
  const { constant, unit } = field
  if (constant === undefined)
    return inUnit(rowReader(row, `${path}.row_field_name`), row, unit, path)
  for (const key of ['row_field_name', 'default_value', 'unit']) {
    if (field[key] === undefined) continue
    throw new FieldError(`${path}.${key}`, 'cannot be given together with constant')
  }
  const value = scalarAt(constant, `${path}.constant`)
  return () => value
}

/** Prefix of fields of the message. */
const IN_MESSAGE = /^[uc]f\./

/** Compiles a row field, a method, or with the prefix `uf.` a field of the message. */
function rowReader(row: unknown, path: string): AnswerReader {
  if (isObject(row)) return methodReader(row, path)
  const name = textAt(row, path)
  if (Object.hasOwn(answerFields, name)) return answerFields[name as AnswerFieldName]
  if (!IN_MESSAGE.test(name)) {
    throw new FieldError(path, `must be a field of answers, or uf. and a path, is '${name}'`)
  }
  const { read } = pathAt(name, path)
  return ({ echo }, _service, entry) => answerValueOf(read({ entry, message: echo.message }))
}

function methodReader(row: Readonly<Record<string, unknown>>, path: string): AnswerReader {
  const at = `${path}.classMethod`
  const name = textAt(objectAt(row, path, ['classMethod'])['classMethod'], at)
  const method = Object.hasOwn(answerMethods, name) ? answerMethods[name] : undefined
  if (method !== undefined) return method
  throw new FieldError(at, `must be one of ${Object.keys(answerMethods).join(', ')}, is '${name}'`)
}

function inUnit(read: AnswerReader, row: unknown, unit: unknown, path: string): AnswerReader {
  if (unit === undefined) return read
  const at = `${path}.unit`
  const known = unitAt(unit, at)
  if (!volumeFields.some((name) => name === row)) {
    throw new FieldError(at, `is for volumes only: ${volumeFields.join(', ')}`)
  }
  const isDecimal = isDecimalUnit(known)
  return (answer, service, entry) => {
    const volume = read(answer, service, entry)
    if (typeof volume !== 'number') return volume
    const text = fromBaseUnits(volume, known)
    return isDecimal ? new NumberText(text) : text
  }
}

/** A null default is ignored: the field is omitted then. */
function withDefault(
  read: AnswerReader,
  field: Readonly<Record<string, unknown>>,
  path: string,
): AnswerReader {
  const fallback = field['default_value']
  if (fallback === undefined || fallback === null) return read
  const value = scalarAt(fallback, `${path}.default_value`)
  return (answer, service, entry) => read(answer, service, entry) ?? value
}

function scalarAt(value: unknown, path: string): AnswerValue {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new FieldError(path, 'must be a text, a number, true or false')
}

interface AnswerScope {
  answer: AnswerSource
  service: ServiceOutcome | null
  entry: Message
}

/** Reader of conditions: numbers as digits, fields of the message unchanged. */
function conditionReader(name: string, path: string): (scope: AnswerScope) => unknown {
  if (IN_MESSAGE.test(name)) {
    const { read } = pathAt(name, path)
    return ({ answer, entry }) => read({ entry, message: answer.echo.message })
  }
  const read = rowReader(name, path)
  return ({ answer, service, entry }) => {
    const value = read(answer, service, entry)
    return value instanceof NumberText ? value.digits : value
  }
}
