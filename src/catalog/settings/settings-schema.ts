/** Builds the schemas of stored values, and checks by them, with readable messages. */
import {
  FormatRegistry,
  type Static,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox'
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value'
import { proposal } from '../../config/nearest.ts'
import { type FieldIssue, type IssueCode, throwIssues } from '../../domain/field-errors.ts'
import { isWebAddress, WEB_ADDRESS_FORM } from '../../domain/fields.ts'

FormatRegistry.Set('web-address', isWebAddress)
FormatRegistry.Set('web-origin', (text) => isWebAddress(text) && new URL(text).origin === text)

export const closed = { additionalProperties: false } as const

export const object = <T extends TProperties>(description: string, fields: T) =>
  Type.Object(fields, { ...closed, description })

/** Absent, it has the defaults of its members. */
export const part = <T extends TProperties>(description: string, fields: T) =>
  Type.Object(fields, { ...closed, description, default: {} })

export const flag = Type.Optional(Type.Boolean({ description: 'true or false' }))

export const flagOr = (byDefault: boolean) =>
  Type.Boolean({ default: byDefault, description: 'true or false' })

export const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })

export const oneOf = <T extends string>(...texts: readonly T[]) =>
  Type.Union(texts.map((text) => Type.Literal(text)))

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

/** The value with defaults for absent members; defaults only if it is invalid. */
export function storedOrDefaults<T extends TSchema>(schema: T, value: unknown): Static<T> {
  const whole: unknown = Value.Default(schema, structuredClone(value ?? {}))
  // `Value.Create` would leave out the defaults within a default.
  return (Value.Check(schema, whole) ? whole : Value.Default(schema, {})) as Static<T>
}

/**
 * The value with defaults for absent members. Throws `FieldError` for the mismatches; their paths
 * begin with `path`. The messages do not quote values, which may be secrets.
 */
export function checkAgainstSchema<T extends TSchema>(
  schema: T,
  value: unknown,
  path: string,
): Static<T> {
  // Defaults would make an object of a list.
  throwIssues(issuesOf(schema, value, path, isOtherThanObject))
  const whole: unknown = Value.Default(schema, structuredClone(value))
  if (!Value.Check(schema, whole)) throwIssues(issuesOf(schema, whole, path))
  return whole as Static<T>
}

function isOtherThanObject({ type, value }: ValueError): boolean {
  return type === ValueErrorType.Object && value !== undefined
}

function issuesOf(
  schema: TSchema,
  value: unknown,
  path: string,
  isIssue = (_error: ValueError): boolean => true,
): FieldIssue[] {
  const issues = new Map<string, FieldIssue>()
  for (const error of Value.Errors(schema, value)) {
    if (!isIssue(error)) continue
    const steps = error.path.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
    // The first of several errors of a field is the most general one.
    const [reason, code = 'invalid'] = reasonOf(error)
    if (!issues.has(steps)) issues.set(steps, { path: `${path}${steps}`, reason, code })
  }
  return [...issues.values()]
}

function reasonOf(error: ValueError): readonly [reason: string, code?: IssueCode] {
  const { type, schema, path } = error
  if (type === ValueErrorType.ObjectAdditionalProperties)
    return [unknownKey(schema, path), 'unknown']
  if (type === ValueErrorType.ObjectRequiredProperty) return ['is missing', 'missing']
  return [invalidValue(error)]
}

function invalidValue({ type, schema, message }: ValueError): string {
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
  return `is not known${proposal(key, known)}`
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
