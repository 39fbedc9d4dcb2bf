/** Parameters of an operation: in its address, and in a body of JSON or a form. */
import { object, ref, refName, type Schema } from '../../catalog/entities/json-schema.ts'

/** Components that are a number or a text; all others are objects, or any JSON. */
const SCALARS: readonly (string | null)[] = ['dateScalar', 'amount']

/** Whether forms and query strings have it as JSON text: it may be a list or an object. */
function isJsonText(schema: Schema): boolean {
  const { type, anyOf, $ref: pointer } = schema
  if (Array.isArray(anyOf)) return anyOf.some(isJsonText)
  if (pointer !== undefined) return !SCALARS.includes(refName(schema))
  return type === 'array' || type === 'object'
}

/** As forms and query strings have it. */
function asText(schema: Schema): Schema {
  return refName(schema) === 'dateGiven' ? { ...schema, ...ref('dateScalar') } : schema
}

export function inAddress(
  name: string,
  given: Schema,
  example: unknown,
  place: 'query' | 'path' = 'query',
): Schema {
  const schema = asText(given)
  const { description = 'Parameter of the request.' } = schema
  const content = { 'application/json': { schema, example } }
  const typed = isJsonText(schema) ? { content } : { schema, example }
  return { name, in: place, description, ...typed }
}

interface BodyParts {
  readonly parameters: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly example: unknown
}

export type FormType = 'application/x-www-form-urlencoded' | 'multipart/form-data'

export function bodyOf(
  { parameters, required = [], example }: BodyParts,
  forms: readonly FormType[] = ['application/x-www-form-urlencoded', 'multipart/form-data'],
): Schema {
  const fields = Object.entries(parameters).map(([name, part]) => [name, asText(part)] as const)
  const texts = fields.filter(([, part]) => isJsonText(part))
  const json = texts.map(([name]) => [name, { contentType: 'application/json' }])
  const encoding = json.length > 0 && { encoding: Object.fromEntries(json) }
  const form = object('Parameters.', Object.fromEntries(fields), required)
  return {
    description: 'Parameters; in forms, compound ones are JSON text.',
    required: required.length > 0,
    content: {
      'application/json': { schema: object('Parameters.', parameters, required), example },
      ...Object.fromEntries(forms.map((type) => [type, { schema: form, ...encoding, example }])),
    },
  }
}
