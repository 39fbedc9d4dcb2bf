/**
 * The OpenAPI document against the one that clients were written for: each operation, parameter and
 * member of it exists, and its schema is the same or stricter. `baseline.json.gz` has that document
 * without texts, examples and errors; `TEST_OPENAPI=record` replaces it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { DOCUMENTS } from '../../../scripts/api-document.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
}
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}
interface Parameter extends Content {
  readonly name: string
  readonly in: string
  readonly schema?: Schema
}
interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Differences that were decided, by pattern; each must still exist. */
const DECIDED: readonly RegExp[] = [
  // All that is wrong is in `errors`, in every answer.
  /\/200\/fields: gone$/,
  // Health, clock and gateways answer a refusal as actions do.
  /^GET \/(health\/\w+|paymentgateways\/list|api\/clock)\/200\/status: (values 0|type string)/,
  // The text of a wrong permission is an object, and has a code of its own.
  /^GET \/api\/200\/(code: values 17577|display: type string -> object)$/,
  // Added later.
  /\/method: values package, graduated_flat$/,
  /\/parser: values separator, fixed, ber$/,
  // Stored by imports and older versions as text.
  /\/(allowances\/\[\]\/sid: type integer|due_before_vat: type number) -> string$/,
]
const BASELINE = join(import.meta.dirname, 'baseline.json.gz')
/** Members that constrain nothing. */
const TEXTS = ['description', 'example', 'examples', 'summary', 'operationId', 'tags', 'security']

function reduced(document: unknown): OpenApi {
  const isResponse = (key: string) => /^[1345]\d\d$/.test(key)
  const part = (value: unknown, isNamed = false): unknown => {
    if (Array.isArray(value)) return value.map((each) => part(each))
    if (typeof value !== 'object' || value === null) return value
    const kept = Object.entries(value).filter(
      ([key]) => isNamed || !(TEXTS.includes(key) || isResponse(key)),
    )
    return Object.fromEntries(kept.map(([key, each]) => [key, part(each, key === 'properties')]))
  }
  const { paths, components } = document as OpenApi
  return part({ paths, components: { schemas: components['schemas'] } }) as OpenApi
}

const current = reduced(DOCUMENTS.api)
if (process.env['TEST_OPENAPI'] === 'record') {
  writeFileSync(BASELINE, gzipSync(JSON.stringify(current), { level: 9 }))
}
const baseline = JSON.parse(gunzipSync(readFileSync(BASELINE)).toString()) as OpenApi

/** The alternatives of a schema, without references; a missing one permits anything. */
function alternatives(document: OpenApi, schema: Schema | undefined): Schema[] {
  if (schema === undefined) return [{}]
  if (schema.anyOf) return schema.anyOf.flatMap((each) => alternatives(document, each))
  if (schema.$ref === undefined) return [schema]
  const name = schema.$ref.replace('#/components/schemas/', '')
  return alternatives(document, document.components['schemas']?.[name] as Schema)
}

function typesOf(schemas: readonly Schema[]): Set<string> {
  const types = schemas.flatMap((schema) => {
    const values = valuesOf(schema)
    if (values !== undefined) return values.map(typeOf)
    return [schema.type ?? 'any'].flat()
  })
  return new Set(types)
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Number.isInteger(value) ? 'integer' : typeof value
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  return schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
}

const JSON_TYPES = ['string', 'number', 'boolean', 'null', 'object', 'array']

function isAny(types: ReadonlySet<string>): boolean {
  return types.has('any') || JSON_TYPES.every((type) => types.has(type))
}

/** Compares two documents; each pair of schemas once. */
class Comparison {
  readonly differences: string[] = []
  readonly #seen = new Set<string>()
  readonly #before: OpenApi
  readonly #after: OpenApi

  constructor(before: OpenApi, after: OpenApi) {
    this.#before = before
    this.#after = after
    for (const [path, item] of Object.entries(before.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        const at = [`${method.toUpperCase()} ${path}`]
        const now = after.paths[path]?.[method]
        if (now === undefined) this.#add(at, 'gone')
        else this.#operation(at, operation, now)
      }
    }
  }

  #add(path: readonly string[], text: string): void {
    this.differences.push(`${path.join('/')}: ${text}`)
  }

  #operation(at: readonly string[], before: Operation, after: Operation): void {
    for (const parameter of before.parameters ?? []) {
      const path = [...at, `?${parameter.name}`]
      const now = after.parameters?.find(
        (each) => each.name === parameter.name && each.in === parameter.in,
      )
      if (now === undefined) this.#add(path, 'gone')
      else this.#schema(path, schemaOf(parameter), schemaOf(now))
    }
    this.#content([...at, 'body'], before.requestBody, after.requestBody)
    for (const [status, answer] of Object.entries(before.responses)) {
      this.#content([...at, status], answer, after.responses[status])
    }
  }

  #content(path: readonly string[], before: Content | undefined, after: Content | undefined): void {
    for (const [type, { schema }] of Object.entries(before?.content ?? {})) {
      const now = after?.content?.[type]
      if (now === undefined) this.#add([...path, type], 'gone')
      else this.#schema(path, schema, now.schema)
    }
  }

  #schema(path: readonly string[], one: Schema | undefined, other: Schema | undefined): void {
    const pair = `${JSON.stringify(one)} ${JSON.stringify(other)}`
    if (this.#seen.has(pair)) return
    this.#seen.add(pair)
    const before = alternatives(this.#before, one)
    const after = alternatives(this.#after, other)
    const types = typesOf(before)
    if (isAny(types)) return
    const isWithin = (type: string) =>
      types.has(type) || (type === 'integer' && types.has('number'))
    const wider = [...typesOf(after)].filter((type) => !isWithin(type))
    if (wider.length > 0) this.#add(path, `type ${[...types].join()} -> ${wider.join()}`)
    this.#values(path, before, after)
    this.#members(path, before, after)
    const itemsOf = (schemas: readonly Schema[]) => schemas.flatMap(({ items }) => items ?? [])
    this.#all([...path, '[]'], itemsOf(before), itemsOf(after))
  }

  #all(path: readonly string[], before: readonly Schema[], after: readonly Schema[]): void {
    if (before.length > 0) this.#schema(path, { anyOf: before }, { anyOf: after })
  }

  #values(path: readonly string[], before: readonly Schema[], after: readonly Schema[]): void {
    const of = (schemas: readonly Schema[]) => schemas.map(valuesOf)
    const known = of(before).flatMap((values) => values ?? [])
    if (of(before).includes(undefined)) return
    if (of(after).includes(undefined)) this.#add(path, 'any value')
    const added = of(after).flatMap((values) => values?.filter((one) => !known.includes(one)) ?? [])
    if (added.length > 0) this.#add(path, `values ${[...new Set(added)].join(', ')}`)
  }

  #members(path: readonly string[], before: readonly Schema[], after: readonly Schema[]): void {
    const of = (schemas: readonly Schema[], name: string) =>
      schemas.flatMap(({ properties }) => properties?.[name] ?? [])
    const [one, other] = [before, after].map((schemas) => schemas.filter(isObject))
    if (other?.length === 0) return
    const names = new Set(before.flatMap(({ properties }) => Object.keys(properties ?? {})))
    for (const name of names) {
      const now = of(after, name)
      if (now.length === 0) this.#add([...path, name], 'gone')
      else this.#all([...path, name], of(before, name), now)
    }
    if (one?.length === 1 && other?.length === 1) {
      const lost = one[0]?.required?.filter((name) => !other[0]?.required?.includes(name)) ?? []
      for (const name of lost) this.#add([...path, name], 'optional')
    }
    const isClosed = (schema: Schema) => schema.additionalProperties === false
    if (one?.length && one.every(isClosed) && !other?.every(isClosed)) this.#add(path, 'open')
    const furtherOf = (schemas: readonly Schema[]) =>
      schemas.flatMap(({ additionalProperties: further }) =>
        typeof further === 'object' ? [further] : [],
      )
    this.#all([...path, '{}'], furtherOf(before), furtherOf(after))
  }
}

function schemaOf({ schema, content = {} }: Parameter): Schema | undefined {
  return schema ?? Object.values(content)[0]?.schema
}

function isObject({ type, properties }: Schema): boolean {
  return properties !== undefined || [type].flat().includes('object')
}

it('is equal to the baseline or stricter', () => {
  const { differences } = new Comparison(baseline, current)
  const isDecided = (text: string) => DECIDED.some((pattern) => pattern.test(text))
  expect(differences.filter((text) => !isDecided(text))).toEqual([])
  const isFound = (pattern: RegExp) => differences.some((text) => pattern.test(text))
  expect(DECIDED.filter((pattern) => !isFound(pattern))).toEqual([])
})

describe('a document', () => {
  const document = (schema: Schema): OpenApi => ({
    paths: { '/a': { get: { responses: { 200: { content: { json: { schema } } } } } } },
    components: {},
  })
  const both: Schema = { anyOf: [{ type: 'string' }, { type: 'null' }] }
  const object: Schema = {
    type: 'object',
    properties: { a: { enum: [1, 2] }, b: { items: { type: 'number' }, type: 'array' } },
    required: ['a'],
    additionalProperties: false,
  }
  it.each<[string, Schema, Schema, string[]]>([
    ['may name one type of two', both, { type: 'null' }, []],
    ['may name members', { type: 'object' }, object, []],
    ['has no further type', { type: 'null' }, both, ['type null -> string']],
    ['has no further value', { const: 'a' }, { enum: ['a', 'b'] }, ['values b']],
    ['has all members', object, { ...object, properties: { a: { const: 1 } } }, ['b: gone']],
    ['has its mandatory members', object, { ...object, required: [] }, ['a: optional']],
    ['has no further members', object, { ...object, additionalProperties: true }, ['open']],
    ['permits nothing else', { type: 'string' }, {}, ['type string -> any']],
    ['keeps values', { enum: ['a'] }, { type: 'string' }, ['any value']],
  ])('%s', (_name, before, after, expected) => {
    const { differences } = new Comparison(document(before), document(after))
    expect(differences.map((text) => text.replace(/^GET .*200(: |\/)/, ''))).toEqual(expected)
  })
})
