/** OpenAPI operations of endpoints that are no actions, generated from their declarations. */
import { either, ref, type Schema, text } from '../../catalog/entities/json-schema.ts'
import type { RouteAccess } from '../../identity/access.ts'
import { ADMIN } from '../../identity/caller.ts'
import { ENDPOINTS } from '../endpoints.ts'
import type {
  DescribedAnswer,
  EndpointAnswer,
  EndpointDescription,
  EndpointRequest,
  RedirectAnswer,
} from '../http/endpoint.ts'
import { content, ERROR_EXAMPLES, response } from './errors.ts'
import { codeSamples, type Operation, type PathItem } from './operations.ts'
import { bodyOf, type FormType, inAddress } from './request-parts.ts'
import type { Sample } from './samples.ts'

const TAGS = {
  node: 'node',
  payments: 'payments',
  reports: 'actions',
  clock: 'node',
  auth: 'access',
  settings: 'access',
} as const satisfies Record<keyof typeof ENDPOINTS, string>

/** Adds the named schemas of the answers to `components`. `baseUrl`: of the node, for examples. */
export function endpointPaths(
  baseUrl: string,
  components: Record<string, Schema>,
): Readonly<Record<string, PathItem>> {
  const paths: Record<string, PathItem> = {}
  for (const [family, endpoints] of Object.entries(ENDPOINTS)) {
    const tag = TAGS[family as keyof typeof ENDPOINTS]
    for (const endpoint of endpoints) {
      const method = endpoint.method === 'GET' ? 'get' : 'post'
      const path = templateOf(endpoint.path)
      const responses = responsesOf(endpoint, (schema) => referring(schema, components))
      const described = { ...operation(endpoint, tag, baseUrl), responses }
      paths[path] = { ...paths[path], [method]: described }
    }
  }
  return paths
}

/** Parameters of a path as in OpenAPI. */
export function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

/** A schema with references in place of its named parts, which are added to `components`. */
function referring(schema: Schema, components: Record<string, Schema>): Schema {
  const inner = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(inner)
    return typeof part === 'object' && part !== null ? referring(part as Schema, components) : part
  }
  const parts = Object.entries(schema).map(([keyword, part]) => [keyword, inner(part)] as const)
  const { $id: name, ...plain } = Object.fromEntries(parts)
  if (typeof name !== 'string') return Object.fromEntries(parts)
  components[name] = plain
  return ref(name)
}

const FORMS: readonly FormType[] = ['application/x-www-form-urlencoded']

const NO_REQUEST: EndpointRequest = { parameters: {}, example: {} }

function operation(
  endpoint: EndpointDescription,
  tag: string,
  baseUrl: string,
): Omit<Operation, 'responses'> {
  const { method, path, access, about, request = NO_REQUEST } = endpoint
  const words = path.split(/\W+/).filter(Boolean)
  const { inPath, others } = split(path, request)
  const inQuery = method === 'GET' ? Object.entries(others.parameters) : []
  const parameters = [
    ...inPath.map(([parameter, schema]) => ({
      ...inAddress(parameter, schema, request.example[parameter] ?? '', 'path'),
      required: true,
    })),
    ...inQuery.map(([parameter, schema]) =>
      inAddress(parameter, schema, request.example[parameter] ?? ''),
    ),
  ]
  const hasBody = method === 'POST' && Object.keys(others.parameters).length > 0
  return {
    operationId: [...words, method.toLowerCase()].join('.'),
    tags: [tag],
    summary: about,
    description: [`${about}.`, accessDescription(access)].filter((part) => part !== '').join(' '),
    ...(typeof access !== 'string' && { 'x-roles': [...new Set([...access, ADMIN])] }),
    ...codeSamples(sampleOf(endpoint, others, baseUrl)),
    ...(access === 'public' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(hasBody && { requestBody: bodyOf(others, FORMS) }),
  }
}

/** The parameters of the path, and a request of the others. */
function split(path: string, request: EndpointRequest) {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const isInPath = ([name]: readonly [string, unknown]) => names.includes(name)
  const entries = Object.entries(request.parameters)
  const rest = (all: object) =>
    Object.fromEntries(Object.entries(all).filter((each) => !isInPath(each)))
  const parameters = rest(request.parameters) as EndpointRequest['parameters']
  const others: EndpointRequest = { ...request, parameters, example: rest(request.example) }
  return { inPath: entries.filter(isInPath), others }
}

function sampleOf(
  { method, path }: EndpointDescription,
  request: EndpointRequest,
  baseUrl: string,
): Sample {
  const { example, credentials } = request
  const isSent = Object.keys(example).length > 0
  return {
    method,
    path: templateOf(path),
    baseUrl,
    ...(isSent && (method === 'GET' ? { query: example } : { json: example })),
    ...(credentials !== undefined && { credentials }),
  }
}

type Referring = (schema: Schema) => Schema

function responsesOf(
  { access, answer }: EndpointDescription,
  referring: Referring,
): Record<string, Schema> {
  const { description, others = {}, refused = [] } = answer
  const all = access === 'public' ? refused : [BAD_NAME, ...refused]
  const named = Object.entries(others).map(([status, other]) => [
    status,
    typeof other === 'string' ? response(other) : otherOf(other, referring),
  ])
  const { unavailableExample: unavailable } = answer
  return {
    '200': {
      description,
      content: contentOf({ ...answer, refused: all }, referring),
    },
    ...Object.fromEntries(named),
    ...(unavailable !== undefined && {
      '503': {
        description: 'A store is unavailable.',
        ...content(referring(answer.schema), { unavailable }),
      },
    }),
  }
}

/** The names of parameters are checked before the caller, whose credentials may be among them. */
const BAD_NAME = 'ruleError'
const JSON_TYPE = 'application/json'

/** In each media type; errors are JSON. */
function contentOf(answer: EndpointAnswer, referring: Referring): Schema {
  const { type = JSON_TYPE, types, refused = [] } = answer
  const errors = Object.fromEntries(refused.map((name) => [name, ERROR_EXAMPLES[name]]))
  const refusals = refused.map((name) => ref(name))
  const forms = Object.entries({ [type]: answer, ...types }).map(([each, form]) => {
    const schema = referring(form.schema)
    if (each !== JSON_TYPE || refused.length === 0) {
      return content(schema, { done: form.example }, each)
    }
    const whole = either('The response, or an error.', schema, ...refusals)
    return content(whole, { done: form.example, ...errors })
  })
  const isOnlyRefused = refused.length > 0 && type !== JSON_TYPE
  const all = isOnlyRefused ? [...forms, content(either('The error.', ...refusals), errors)] : forms
  return Object.assign({}, ...all.map(({ content: part }) => part))
}

function otherOf(other: DescribedAnswer | RedirectAnswer, referring: Referring): Schema {
  if ('redirect' in other) {
    return {
      description: other.redirect,
      headers: { Location: { description: 'The page.', schema: text('Its address.') } },
      ...content(text('Nothing.'), { empty: '' }, 'text/plain'),
    }
  }
  const { description, schema, example, type } = other
  return { description, ...content(referring(schema), { example }, type) }
}

function accessDescription(access: RouteAccess): string {
  if (access === 'public') return 'Authentication is not required.'
  if (typeof access === 'string') return 'No role is required.'
  return `Needs one of the roles ${[...new Set([...access, ADMIN])].join(', ')}.`
}
