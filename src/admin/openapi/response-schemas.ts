/**
 * Converts schemas of requests to those of responses (entities/views.ts): dates are texts or
 * seconds, ids are objects, and an empty object is an empty list.
 */
import { ref, refName, type Schema } from '../../catalog/entities/json-schema.ts'

/** Response to a read or to a write. */
export type ResponseKind = 'read' | 'written'

/** At any depth, in responses to reads. */
const TEXT_DATES: ReadonlySet<string> = new Set(['from', 'to', 'creation_time'])

export interface ResponseSchemaOptions {
  readonly responseKind: ResponseKind
  /** Dotted paths of further dates that are texts in responses to reads. */
  readonly textDates: ReadonlySet<string>
  /** The component of this name for requests. */
  component(name: string): Schema
}

/** Name of the component for responses, such as `serviceEntry.read`. */
export function responseSchemaName(name: string, responseKind: ResponseKind): string {
  return `${name}.${responseKind}`
}

/** `path`: path of the field in its document; null inside a component, where it is unknown. */
export function responseSchema(
  schema: Schema,
  key: string,
  path: string | null,
  options: ResponseSchemaOptions,
): Schema {
  const name = refName(schema)
  if (name !== null) return responseRef(name, schema, key, path, options)
  const inner = (part: unknown, name_: string) =>
    responseSchema(part as Schema, name_, path === null ? null : `${path}.${name_}`, options)
  const same = (part: unknown) => responseSchema(part as Schema, key, path, options)
  // Stored values may be older than the rule on their format; the first user is `admin`.
  const { format: _, ...stored } = schema
  const { properties, items, additionalProperties: others, anyOf } = schema
  const visible = {
    ...stored,
    ...(properties !== undefined && { properties: mapped(properties as object, inner) }),
    ...(items !== undefined && { items: same(items) }),
    ...(typeof others === 'object' && { additionalProperties: inner(others, '') }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(same) }),
  }
  return withEmptyForm(visible)
}

function mapped(parts: object, change: (part: unknown, name: string) => Schema) {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, change(part, name)]))
}

function responseRef(
  name: string,
  { description }: Schema,
  key: string,
  path: string | null,
  options: ResponseSchemaOptions,
): Schema {
  const what = typeof description === 'string' ? description : undefined
  if (name === 'dateGiven') {
    const isText =
      options.responseKind === 'read' &&
      (TEXT_DATES.has(key) || (path !== null && options.textDates.has(path)))
    return ref(isText ? 'dateText' : 'dateParts', what)
  }
  if (name === 'idGiven') return ref('id', what)
  // Inlined if one of its dates has a different format in this document.
  if (path !== null && [...options.textDates].some((date) => date.startsWith(`${path}.`))) {
    return { ...responseSchema(options.component(name), key, path, options), description }
  }
  return differsInResponse(name, options)
    ? ref(responseSchemaName(name, options.responseKind), what)
    : ref(name, what)
}

/** True if a component has a different schema in responses. */
function differsInResponse(
  name: string,
  options: ResponseSchemaOptions,
  seen = new Set<string>(),
): boolean {
  if (name === 'dateGiven' || name === 'idGiven') return true
  if (seen.has(name)) return false
  seen.add(name)
  const schema = options.component(name)
  return containsSchema(schema, (part) => {
    const inner = refName(part)
    return inner === null ? isMaybeEmpty(part) : differsInResponse(inner, options, seen)
  })
}

function containsSchema(schema: Schema, test: (part: Schema) => boolean): boolean {
  if (test(schema)) return true
  return Object.values(schema).some((part) => {
    if (typeof part !== 'object' || part === null) return false
    if (Array.isArray(part))
      return part.some((one) => typeof one === 'object' && containsSchema(one, test))
    return containsSchema(part as Schema, test)
  })
}

/** True if an object may be empty. */
function isMaybeEmpty({ type, required }: Schema): boolean {
  return type === 'object' && required === undefined
}

function withEmptyForm(schema: Schema): Schema {
  if (!isMaybeEmpty(schema)) return schema
  const { description, ...rest } = schema
  const empty = ref('emptyObject')
  return { description, anyOf: [{ description, ...rest }, empty] }
}
