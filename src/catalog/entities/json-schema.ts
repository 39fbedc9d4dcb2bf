/** Building blocks of schemas; each has a description. */

export type Schema = { readonly [keyword: string]: unknown }

export const text = (description: string, more: Schema = {}): Schema => ({
  type: 'string',
  description,
  ...more,
})

export const integer = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  description,
  ...more,
})

export const number = (description: string): Schema => ({ type: 'number', description })

export const flag = (description: string): Schema => ({ type: 'boolean', description })

/** One of these values. */
export const choice = (values: readonly string[], description: string): Schema => ({
  type: 'string',
  enum: values,
  description,
})

export const listOf = (items: Schema, description: string): Schema => ({
  type: 'array',
  items,
  description,
})

/** An object with arbitrary keys. */
export const mapOf = (values: Schema, description: string): Schema => ({
  type: 'object',
  additionalProperties: values,
  description,
})

export const object = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema => ({
  type: 'object',
  description,
  properties,
  ...(required.length > 0 && { required }),
})

/** An object with these members only; all but `optional` are required. */
export const closed = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema => ({
  ...object(
    description,
    properties,
    Object.keys(properties).filter((name) => !optional.includes(name)),
  ),
  additionalProperties: false,
})

export const either = (description: string, ...anyOf: readonly Schema[]): Schema => ({
  description,
  anyOf,
})

const SCHEMAS = '#/components/schemas/'

/** Reference to a component, with a description of its use. */
export const ref = (name: string, description?: string): Schema => ({
  $ref: `${SCHEMAS}${name}`,
  ...(description !== undefined && { description }),
})

/** Name of the referenced component; null if the schema is not a reference. */
export function refName({ $ref: pointer }: Schema): string | null {
  const isRef = typeof pointer === 'string' && pointer.startsWith(SCHEMAS)
  return isRef ? pointer.slice(SCHEMAS.length) : null
}

export const date = (description: string): Schema => ref('dateGiven', description)
export const amount = (description: string): Schema => ref('amount', description)
export const anyValue = (description: string): Schema => ref('jsonValue', description)
