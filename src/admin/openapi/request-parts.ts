/** Parameters of an operation: in its address, and in a body of JSON or a form. */
import { object, refName, type Schema } from '../../catalog/entities/json-schema.ts'

/** Components that are a number or a text; all others are objects, or any JSON. */
const SCALARS: readonly (string | null)[] = ['dateGiven', 'amount']

/** Whether forms and query strings have it as JSON text: it may be a list or an object. */
function isJsonText(schema: Schema): boolean {
  const { type, anyOf, $ref: pointer } = schema
  if (Array.isArray(anyOf)) return anyOf.some(isJsonText)
  if (pointer !== undefined) return !SCALARS.includes(refName(schema))
  return type === 'array' || type === 'object'
}

export function inAddress(
  name: string,
  schema: Schema,
  example: unknown,
  place: 'query' | 'path' = 'query',
): Schema {
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
  const schema = object('Parameters.', parameters, required)
  const texts = Object.entries(parameters).filter(([, part]) => isJsonText(part))
  const json = texts.map(([name]) => [name, { contentType: 'application/json' }])
  const encoding = json.length > 0 && { encoding: Object.fromEntries(json) }
  return {
    description: 'Parameters; in forms, compound ones are JSON text.',
    required: required.length > 0,
    content: {
      'application/json': { schema, example },
      ...Object.fromEntries(forms.map((type) => [type, { schema, ...encoding, example }])),
    },
  }
}
