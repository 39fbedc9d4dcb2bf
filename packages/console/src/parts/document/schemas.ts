/** Shapes of documents, from the OpenAPI document of the node: with its configured fields. */
import { getAnswer } from '../../api/client.ts'

/** The part of JSON Schema that the API description uses. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly maxItems?: number
  readonly anyOf?: readonly Schema[]
}

export type Schemas = Readonly<Record<string, Schema>>

let reading: Promise<Schemas> | null = null

/** Read once for all pages; after a failure again. */
export function readSchemas(): Promise<Schemas> {
  reading ??= getAnswer('openapi.json' as 'api/filetypes').then((answer) => {
    const { components } = answer as unknown as { components: { schemas: Schemas } }
    return components.schemas
  })
  reading.catch(() => {
    reading = null
  })
  return reading
}

export type ValueKind =
  | 'record'
  | 'list'
  | 'tiers'
  | 'scalars'
  | 'choice'
  | 'boolean'
  | 'number'
  | 'text'
  | 'any'

/** The schema that applies to a value: references followed, the fitting branch of `anyOf`. */
export function schemaFor(schemas: Schemas, schema: Schema, value: unknown): Schema {
  if (schema.$ref !== undefined) {
    const found = schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}
    const { description = found.description } = schema
    return schemaFor(schemas, { ...found, ...(description && { description }) }, value)
  }
  if (schema.anyOf === undefined) return schema
  const branches = schema.anyOf.map((branch) => schemaFor(schemas, branch, value))
  const fitting = branches.filter(({ maxItems }) => maxItems !== 0)
  const found = fitting.find((branch) => fits(branch, value)) ?? fitting[0] ?? {}
  return { ...found, ...(schema.description && { description: schema.description }) }
}

function fits({ type }: Schema, value: unknown): boolean {
  const types = typesIn(type)
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return types.includes('array')
  if (typeof value === 'object') return types.includes('object')
  return types.includes(typeof value) || (typeof value === 'number' && types.includes('integer'))
}

function typesIn(type: Schema['type']): readonly string[] {
  if (type === undefined) return []
  return typeof type === 'string' ? [type] : type
}

/** `schema`: as `schemaFor` returns it. */
export function kindOf(schemas: Schemas, schema: Schema): ValueKind {
  const types = typesIn(schema.type)
  if (schema.enum !== undefined) return 'choice'
  if (types.includes('object')) return 'record'
  if (types.includes('array')) return listKind(schemas, schema)
  if (types.includes('boolean')) return 'boolean'
  if (types.includes('number') || types.includes('integer')) return 'number'
  return types.includes('string') ? 'text' : 'any'
}

function listKind(schemas: Schemas, { items = {} }: Schema): ValueKind {
  const item = schemaFor(schemas, items, undefined)
  const { to, price } = item.properties ?? {}
  if (to !== undefined && price !== undefined) return 'tiers'
  const kind = kindOf(schemas, item)
  return kind === 'record' || kind === 'list' || kind === 'any' ? 'list' : 'scalars'
}

/** Whether numbers may be sent as text, which is exact at any length. */
export function takesText({ type }: Schema): boolean {
  return typesIn(type).includes('string')
}

/** A new value of a schema, to be filled in. */
export function emptyOf(schemas: Schemas, schema: Schema): unknown {
  const found = schemaFor(schemas, schema, undefined)
  const kind = kindOf(schemas, found)
  if (kind === 'record') {
    const needed = (found.required ?? []).map((name) => {
      return [name, emptyOf(schemas, found.properties?.[name] ?? {})]
    })
    return Object.fromEntries(needed)
  }
  if (kind === 'boolean') return true
  if (kind === 'choice') return found.enum?.[0]
  if (kind === 'tiers') return [emptyOf(schemas, found.items ?? {})]
  return kind === 'list' || kind === 'scalars' ? [] : ''
}

const DECIMAL = /^-?\d+(?:\.\d+)?$/

/** More digits than this a number of JSON does not hold exactly. */
const DIGITS_MAX = 15

/** The document with numbers in place of their texts, unless only the text is exact. */
export function withNumbers(schemas: Schemas, given: Schema, value: unknown): unknown {
  const schema = schemaFor(schemas, given, value)
  const kind = kindOf(schemas, schema)
  if (kind === 'number' && typeof value === 'string') {
    const digits = value.replaceAll(/\D/g, '').replace(/^0+/, '').length
    const isText = takesText(schema) && digits > DIGITS_MAX
    return DECIMAL.test(value) && !isText ? Number(value) : value
  }
  if (Array.isArray(value)) {
    return value.map((each) => withNumbers(schemas, schema.items ?? {}, each))
  }
  if (kind !== 'record' || typeof value !== 'object' || value === null) return value
  const { properties = {}, additionalProperties: other } = schema
  const schemaOf = (name: string) => properties[name] ?? (typeof other === 'object' ? other : {})
  const members = Object.entries(value).map(([name, member]) => {
    return [name, withNumbers(schemas, schemaOf(name), member)]
  })
  return Object.fromEntries(members)
}
