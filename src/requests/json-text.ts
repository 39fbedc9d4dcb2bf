/** Compound parameters: JSON text, or a value that is already parsed. */
import type { Fields } from '../domain/fields.ts'
import { EntityRuleError, fieldRule } from './errors.ts'
import {
  inexactNumber,
  JSON_LIMITS,
  type JsonLimits,
  refusedText,
  refusedValue,
} from './json-limits.ts'
import type { RawParameters } from './raw-parameters.ts'

export const OBJECTS = ['query', 'update', 'options', 'sort', 'project', 'additional'] as const

/** A member is absent if it was not sent, is empty or null. */
export type CompoundParameters = Readonly<
  Partial<Record<(typeof OBJECTS)[number], Fields> & { states: readonly unknown[] }>
>

/**
 * Parses JSON text. Throws `EntityRuleError` with the parameter and the error: invalid syntax,
 * nesting, keys, names, or a number that would lose precision.
 */
export function parseJson(text: string, name: string, limits: JsonLimits = JSON_LIMITS): unknown {
  const tooMuch = refusedText(text, name, limits)
  if (tooMuch !== null) throw tooMuch
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // Without the excerpt of the text that the parser adds: it may contain a password.
    const [reason] = (error instanceof Error ? error.message : String(error)).split(/, (?:"|\.{3})/)
    throw fieldRule(name, `is not JSON: ${reason}`)
  }
  const refused = refusedValue(value, name, limits)
  if (refused !== null) throw refused
  const number = inexactNumber(text)
  if (number === null) return value
  throw fieldRule(name, `has the number ${number}, which cannot be kept exactly`)
}

/**
 * The compound parameters of a request. An empty list is accepted as an empty object, because PHP
 * encodes it so. Throws one `EntityRuleError` with all errors.
 */
export function compoundParameters(raw: RawParameters): CompoundParameters {
  const refused: EntityRuleError[] = []
  const result: Record<string, unknown> = {}
  const read = (name: string, kind: (value: unknown) => unknown, expected: string) => {
    const rawValue = raw.get(name)
    if (rawValue === undefined || rawValue === null || rawValue === '') return
    try {
      const value = kind(
        typeof rawValue === 'string' ? parseJson(rawValue, name) : checked(rawValue, name),
      )
      if (value === undefined) refused.push(fieldRule(name, `must be ${expected}`))
      else result[name] = value
    } catch (error) {
      if (!(error instanceof EntityRuleError)) throw error
      refused.push(error)
    }
  }
  for (const name of OBJECTS) read(name, objectFrom, 'an object')
  read('states', (value) => (Array.isArray(value) ? value : undefined), 'a list')
  if (refused.length > 0) {
    const text = refused.map(({ message }) => message).join('; ')
    throw new EntityRuleError(
      text,
      refused.flatMap(({ issues }) => issues),
    )
  }
  return result
}

function checked(value: unknown, name: string): unknown {
  const refused = refusedValue(value, name)
  if (refused !== null) throw refused
  return value
}

function objectFrom(value: unknown): Fields | undefined {
  if (Array.isArray(value)) return value.length === 0 ? {} : undefined
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined
}
