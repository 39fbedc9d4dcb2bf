/**
 * Parameters of actions: building blocks for their TypeBox schemas, and the cast of what was sent
 * to them. A schema is also the description in the OpenAPI document.
 */
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { Decimal } from 'decimal.js'
import * as schema from '../../catalog/entities/json-schema.ts'
import { throwAll } from '../../domain/field-errors.ts'
import { amountOf, booleanOf, integerOf } from '../../requests/cast-value.ts'
import { ApiError, missingParameters, parameterError } from '../../requests/errors.ts'
import { dateOf, type TimeContext } from '../../requests/instant.ts'
import { type JsonLimits, refusedValue } from '../../requests/json-limits.ts'
import { parseJson } from '../../requests/json-text.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'

const TEXT_LENGTH_MAX = 1_000

/** Forms of parameters that actions check themselves. */
export const WHOLE_NUMBER = [schema.integer('A number.'), schema.text('Its digits.')] as const
export const JSON_TEXT = schema.text('The same as JSON text.')
/** One or several numbers. */
export const WHOLE_NUMBERS = [
  schema.integer('A number.'),
  schema.text('Numbers, separated by commas.'),
  schema.listOf(schema.either('A number.', ...WHOLE_NUMBER), 'Numbers.'),
] as const
export const ONE_OR_SEVERAL = [
  ...WHOLE_NUMBER,
  schema.listOf(schema.either('One of them.', ...WHOLE_NUMBER), 'Several.'),
] as const

/** Building blocks; `optional` makes one optional. */
export const param = {
  integer: (description: string, more: schema.Schema = {}) =>
    Type.Unsafe<number>(schema.integer(description, more)),
  /** An exact decimal, from a number or text. */
  amount: (description: string) => Type.Unsafe<Decimal>(schema.amount(description)),
  text: (description: string, more: schema.Schema = {}) =>
    Type.Unsafe<string>(schema.text(description, { maxLength: TEXT_LENGTH_MAX, ...more })),
  choice: <T extends string>(values: readonly T[], description: string) =>
    Type.Unsafe<T>(schema.choice(values, description)),
  flag: (description: string) => Type.Unsafe<boolean>(schema.flag(description)),
  /** Any format of a date that the entity API accepts. */
  date: (description: string) => Type.Unsafe<Date>(schema.date(description)),
  /**
   * JSON, as text in forms. Text that is not JSON stays text. The action checks it itself; `forms`
   * are those that it accepts.
   */
  json: (description: string, ...forms: readonly schema.Schema[]) =>
    Type.Unsafe<unknown>(
      forms.length === 0 ? schema.anyValue(description) : schema.either(description, ...forms),
    ),
  /** A list whose members the action checks itself. */
  list: (members: schema.Schema, description: string) =>
    Type.Unsafe<readonly unknown[]>(schema.listOf(members, description)),
  object: (description: string) =>
    Type.Unsafe<Readonly<Record<string, unknown>>>(schema.customFields(description)),
  optional: Type.Optional,
} as const

export interface CastOptions extends TimeContext {
  /** Limits on JSON text in a parameter. */
  readonly limits?: JsonLimits
}

/**
 * Casts the declared parameters in their order; others are ignored. Null counts as not sent. Throws
 * the error of the first one that is missing or has a wrong value, with the issues of all.
 */
export function castParameters<T extends TObject>(
  declared: T,
  raw: RawParameters,
  options: CastOptions,
): Static<T> {
  const required: readonly string[] = declared.required ?? []
  const cast: Record<string, unknown> = {}
  const errors: ApiError[] = []
  for (const [name, definition] of Object.entries(declared.properties)) {
    const value = raw.get(name) ?? undefined
    try {
      const result = value === undefined ? value : castValue(definition, value, name, options)
      if (result !== undefined) cast[name] = result
      else if (required.includes(name)) throw missingParameters([name])
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      errors.push(error)
    }
  }
  throwAll(errors)
  return cast as Static<T>
}

type Kind = 'Integer' | 'Float' | 'Boolean' | 'Date' | 'String' | 'Array' | 'Object' | 'Json'

function kindOf(definition: TSchema): Kind {
  const name = schema.refName(definition as schema.Schema)
  if (name === 'dateGiven') return 'Date'
  if (name === 'amount') return 'Float'
  if (name === 'customFields') return 'Object'
  if (name === 'jsonValue' || definition['anyOf'] !== undefined) return 'Json'
  const kinds: Readonly<Record<string, Kind>> = {
    integer: 'Integer',
    boolean: 'Boolean',
    string: 'String',
    array: 'Array',
    object: 'Object',
  }
  const kind = kinds[String(definition['type'])]
  if (kind === undefined) throw new RangeError(`no cast for ${JSON.stringify(definition)}`)
  return kind
}

/** Undefined for an empty text in place of a list or an object: it was not sent. */
function castValue(
  definition: TSchema,
  value: unknown,
  name: string,
  options: CastOptions,
): unknown {
  const kind = kindOf(definition)
  switch (kind) {
    case 'Integer':
      return inRange(definition, known(integerOf(value), kind, name), name)
    case 'Float':
      return known(amountOf(value), kind, name)
    case 'Boolean':
      return known(booleanOf(value), kind, name)
    case 'Date':
      return known(dateOf(value, options), kind, name)
    case 'String':
      return textOf(definition, value, name)
    default:
      return compoundOf(kind, value, name, options)
  }
}

function known<T>(value: T | null, kind: Kind, name: string): T {
  if (value !== null) return value
  throw parameterError(name, `should be of type ${kind}`)
}

function inRange({ minimum, maximum }: TSchema, value: number, name: string): number {
  if (typeof minimum === 'number' && value < minimum) {
    throw parameterError(name, `must be at least ${minimum}`)
  }
  if (typeof maximum === 'number' && value > maximum) {
    throw parameterError(name, `must be at most ${maximum}`)
  }
  return value
}

function textOf(definition: TSchema, value: unknown, name: string): string {
  const isText = typeof value === 'string'
  const text = known(isText || typeof value === 'number' ? String(value) : null, 'String', name)
  const { enum: values, maxLength } = definition
  if (Array.isArray(values) && !values.includes(text)) {
    throw parameterError(name, `must be one of ${values.join(', ')}`)
  }
  if (typeof maxLength === 'number' && text.length > maxLength) {
    throw parameterError(name, `has more than ${maxLength} characters`)
  }
  if (text.includes('\0')) throw parameterError(name, 'has a zero byte')
  return text
}

function compoundOf(kind: Kind, sent: unknown, name: string, { limits }: CastOptions): unknown {
  if (sent === '') return undefined
  if (kind === 'Json') return jsonOf(sent, name, limits)
  const value =
    typeof sent === 'string' ? parseJson(sent, name, limits) : checked(sent, name, limits)
  const isList = Array.isArray(value)
  if (kind === 'Array') return known(isList ? value : null, kind, name)
  // PHP encodes an empty object as a list.
  if (isList) return known(value.length === 0 ? {} : null, kind, name)
  return known(typeof value === 'object' && value !== null ? value : null, kind, name)
}

function jsonOf(value: unknown, name: string, limits?: JsonLimits): unknown {
  if (typeof value !== 'string') return checked(value, name, limits)
  if (!/^\s*[[{"]/.test(value)) return value
  try {
    JSON.parse(value)
  } catch {
    return value
  }
  return parseJson(value, name, limits)
}

function checked(value: unknown, name: string, limits?: JsonLimits): unknown {
  const refused = refusedValue(value, name, limits)
  if (refused !== null) throw refused
  return value
}
