/** Building blocks of schemas; each has a description. */
import type { TUnsafe } from '@sinclair/typebox'

export type Schema = { readonly [keyword: string]: unknown }
export type Members = Readonly<Record<string, Schema>>

/** The type of the values; unknown for a schema without one. */
export type ValueOf<S> = S extends { readonly static: infer T } ? T : unknown

/** All members are required but `O`. */
export type ValuesOf<P extends Members, O extends keyof P = never> = {
  readonly [K in Exclude<keyof P, O>]: ValueOf<P[K]>
} & { readonly [K in O]?: ValueOf<P[K]> }

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Fields of a document as they are stored; its answers are described by the same schemas. */
export type StoredOf<P extends Members, O extends keyof P = never> = Writable<ValuesOf<P, O>>

/** With the type of its values, which exists for the compiler only, as `Static` of TypeBox. */
export const typed = <T>(schema: Schema) => schema as unknown as TUnsafe<T>

const SEARCHABLE = new WeakSet<Schema>()

/** A field of a record by which `query` can filter. */
export const searchable = <S extends Schema>(schema: S): S => {
  const marked = { ...schema }
  SEARCHABLE.add(marked)
  return marked
}

export const isSearchable = (schema: Schema): boolean => SEARCHABLE.has(schema)

export const text = (description: string, more: Schema = {}) =>
  typed<string>({ type: 'string', description, ...more })

export const integer = (description: string, more: Schema = {}) =>
  typed<number>({ type: 'integer', description, ...more })

export const number = (description: string) => typed<number>({ type: 'number', description })

export const flag = (description: string) => typed<boolean>({ type: 'boolean', description })

export const nothing = (description: string) => typed<null>({ type: 'null', description })

export const constant = <const T extends number | string | boolean>(
  value: T,
  description: string,
) => {
  const type = typeof value === 'number' ? 'integer' : typeof value
  return typed<T>({ type, const: value, description })
}

/** One of these values. */
export const choice = <const T extends string>(values: readonly T[], description: string) =>
  typed<T>({ type: 'string', enum: values, description })

export const listOf = <S extends Schema>(items: S, description: string) =>
  typed<readonly ValueOf<S>[]>({ type: 'array', items, description })

/** An object with arbitrary keys. */
export const mapOf = <S extends Schema>(values: S, description: string) =>
  typed<Readonly<Record<string, ValueOf<S>>>>({
    type: 'object',
    additionalProperties: values,
    description,
  })

export const object = <P extends Members, const R extends string = never>(
  description: string,
  properties: P,
  required: readonly R[] = [],
) =>
  typed<ValuesOf<P, Exclude<keyof P, R>>>({
    type: 'object',
    description,
    properties,
    ...(required.length > 0 && { required }),
  })

/** An object with these members only; all but `optional` are required. */
export const closed = <P extends Members, const O extends string = never>(
  description: string,
  properties: P,
  optional: readonly O[] = [],
) => {
  const others: readonly string[] = optional
  const required = Object.keys(properties).filter((name) => !others.includes(name))
  return typed<ValuesOf<P, keyof P & O>>({
    ...object(description, properties, required),
    additionalProperties: false,
  })
}

/**
 * A value of a record; `project` may exclude any member, so none is required in answers, whatever
 * `optional` says of stored ones.
 */
export const loosePart = <P extends Members, const O extends string = never>(
  description: string,
  properties: P,
  _optional: readonly O[] = [],
) => typed<ValuesOf<P, keyof P & O>>(object(description, properties))

/** Likewise, with these members only. */
export const part = <P extends Members, const O extends string = never>(
  description: string,
  properties: P,
  optional: readonly O[] = [],
) =>
  typed<ValuesOf<P, keyof P & O>>({
    ...loosePart(description, properties, optional),
    additionalProperties: false,
  })

/** An object that may also have members which are stored as they are sent. */
export const open = <T extends object>(schema: TUnsafe<T>) =>
  typed<T & Readonly<Record<string, unknown>>>({
    ...schema,
    additionalProperties: anyValue('Any other field; stored unchanged.'),
  })

/** The schema, or null. */
export const orNull = <S extends Schema>(schema: S, description: string) =>
  typed<ValueOf<S> | null>({ description, anyOf: [schema, nothing('None.')] })

export const either = <const S extends readonly Schema[]>(description: string, ...anyOf: S) =>
  typed<ValueOf<S[number]>>({ description, anyOf })

const SCHEMAS = '#/components/schemas/'

/** Reference to a component, with a description of its use. */
export const ref = <T = unknown>(name: string, description?: string) =>
  typed<T>({ $ref: `${SCHEMAS}${name}`, ...(description !== undefined && { description }) })

/** Name of the referenced component; null if the schema is not a reference. */
export function refName({ $ref: pointer }: Schema): string | null {
  const isRef = typeof pointer === 'string' && pointer.startsWith(SCHEMAS)
  return isRef ? pointer.slice(SCHEMAS.length) : null
}

export const date = (description: string) => ref<Date>('dateGiven', description)
export const amount = (description: string) => ref<number | string>('amount', description)
export const anyValue = (description: string) => ref('jsonValue', description)

/** Fields that the operator, the caller or a customer system names. */
export const customFields = (description: string) =>
  ref<Readonly<Record<string, unknown>>>('customFields', description)

/** Existing clients know an empty object as an empty list. */
export const emptyList = (description?: string) => ref<readonly never[]>('emptyObject', description)
