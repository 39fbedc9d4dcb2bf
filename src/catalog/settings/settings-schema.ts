/** Checks stored values against a schema, with readable messages. */
import { FormatRegistry, type TSchema, Type } from '@sinclair/typebox'
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value'
import { nearest } from '../../config/nearest.ts'
import { throwIssues } from '../../domain/field-errors.ts'
import { isWebAddress, WEB_ADDRESS_FORM } from '../../domain/fields.ts'

FormatRegistry.Set('web-address', isWebAddress)
FormatRegistry.Set('web-origin', (text) => isWebAddress(text) && new URL(text).origin === text)

/** As browsers write it: in small letters, without the usual port. */
export const webOrigin = Type.String({
  format: 'web-origin',
  maxLength: 300,
  description: 'an origin, as https://shop.example.net',
})

/** An address that the node calls. */
export const webAddress = Type.String({
  format: 'web-address',
  maxLength: 1000,
  description: WEB_ADDRESS_FORM,
})

/**
 * Throws `FieldError` for the mismatches; their paths begin with `path`. The messages do not quote
 * values, which may be secrets.
 */
export function checkAgainstSchema(schema: TSchema, value: unknown, path: string): void {
  if (Value.Check(schema, value)) return
  const reasons = new Map<string, string>()
  for (const error of Value.Errors(schema, value)) {
    const steps = error.path.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
    // The first of several errors of a field is the most general one.
    if (!reasons.has(steps)) reasons.set(steps, reasonOf(error))
  }
  throwIssues([...reasons].map(([steps, reason]) => ({ path: `${path}${steps}`, reason })))
}

function reasonOf({ type, schema, path, message }: ValueError): string {
  if (type === ValueErrorType.ObjectAdditionalProperties) return unknownKey(schema, path)
  if (type === ValueErrorType.ObjectRequiredProperty) return 'is missing'
  if (type === ValueErrorType.ArrayUniqueItems) return 'must not have duplicates'
  const { description, maxLength, maxItems, minItems } = schema
  if (type === ValueErrorType.StringMaxLength) return `has more than ${maxLength} characters`
  if (type === ValueErrorType.ArrayMaxItems) return `has more than ${maxItems} members`
  if (type === ValueErrorType.ArrayMinItems) return `must have at least ${minItems} members`
  return description === undefined ? defaultReason(schema, message) : `must be ${description}`
}

function unknownKey(schema: TSchema, path: string): string {
  const key = path.slice(path.lastIndexOf('/') + 1)
  const known = Object.keys(schema['properties'] ?? {})
  const meant = key.length > 64 ? undefined : nearest(key, known)
  return meant === undefined ? 'is not known' : `is not known; did you mean ${meant}?`
}

function defaultReason(schema: TSchema, message: string): string {
  const { type, minimum, maximum, anyOf } = schema
  if (type === 'integer') return `must be an integer from ${minimum} to ${maximum}`
  if (type === 'boolean') return 'must be true or false'
  if (type === 'array') return 'must be a list'
  if (type === 'object') return 'must be an object'
  if (type === 'string') return 'does not have the required format'
  const options: unknown[] = (anyOf ?? []).map((option: TSchema) => option['const'])
  const isChoice = options.length > 0 && options.every((option) => option !== undefined)
  return isChoice ? `must be one of ${options.join(', ')}` : message
}
