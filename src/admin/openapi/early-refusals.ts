/** Refusals that the server sends before it looks up an operation: every operation has them. */
import { either, ref, type Schema } from '../../catalog/entities/json-schema.ts'
import { errorBody } from '../client-errors.ts'
import { content, response } from './errors.ts'
import type { Operation, PathItem } from './operations.ts'

const STATUSES = ['400', '403', '408', '413', '414', '429', '431', '503'] as const
const NAME = 'earlyRefusal'

const EARLY_REFUSAL: Schema = {
  description: 'Refused before it was processed: by its head or its sender, or to limit the load.',
  ...content(ref('transportError'), {
    address: errorBody(414, 'an address has at most 16384 characters'),
    head: errorBody(431, 'a head has at most 32768 bytes'),
  }),
}

type Responses = Readonly<Record<string, Schema>>
type Paths = Readonly<Record<string, PathItem>>

/** Adds them to each operation; where it has a response with the same status, to its schema. */
export function withEarlyRefusals(
  paths: Paths,
  components: Responses,
): { readonly paths: Paths; readonly responses: Responses } {
  const changed: Record<string, Schema> = { [NAME]: EARLY_REFUSAL }
  const extended = (own: Schema | undefined): Schema => {
    if (own === undefined) return response(NAME)
    const { $ref: pointer } = own
    if (typeof pointer !== 'string') return alsoEarly(own)
    const name = pointer.slice(pointer.lastIndexOf('/') + 1)
    changed[name] ??= alsoEarly(components[name] ?? {})
    return own
  }
  const operation = (own: Operation): Operation => {
    const early = STATUSES.map((status) => [status, extended(own.responses[status])])
    return { ...own, responses: { ...own.responses, ...Object.fromEntries(early) } }
  }
  const item = ({ get, post }: PathItem): PathItem => ({
    ...(get !== undefined && { get: operation(get) }),
    ...(post !== undefined && { post: operation(post) }),
  })
  const all = Object.entries(paths).map(([path, each]) => [path, item(each)])
  return { paths: Object.fromEntries(all), responses: { ...components, ...changed } }
}

function alsoEarly(own: Schema): Schema {
  const types = own['content'] as Readonly<Record<string, { readonly schema: Schema }>>
  const json = types['application/json']
  const early = EARLY_REFUSAL['content'] as typeof types
  if (json === undefined) return { ...own, content: { ...types, ...early } }
  const { anyOf = [json.schema] } = json.schema as { readonly anyOf?: readonly Schema[] }
  const schema = either('Why.', ...new Map([...anyOf, ref('transportError')].map(byText)).values())
  return { ...own, content: { ...types, 'application/json': { ...json, schema } } }
}

const byText = (schema: Schema) => [JSON.stringify(schema), schema] as const
