/** An endpoint that is no action: the routes, permissions and documentation follow from it. */
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ref, type Schema } from '../../catalog/entities/json-schema.ts'
import type { Config } from '../../config/schema.ts'
import type { RouteAccess } from '../../identity/access.ts'
import { RequestError } from '../../requests/errors.ts'

/** Parameters in the path and in the query string or the body. */
export interface EndpointRequest {
  readonly parameters: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly example: Readonly<Record<string, unknown>>
  /** Arguments of curl that replace the access token. */
  readonly credentials?: readonly string[]
}

export interface DescribedAnswer {
  readonly description: string
  readonly schema: Schema
  readonly example: unknown
  /** Media type; JSON by default. */
  readonly type?: string
}

/** An answer that leads to another page. */
export interface RedirectAnswer {
  readonly redirect: string
}

export interface EndpointAnswer extends DescribedAnswer {
  /** Other forms of the answer, by media type. */
  readonly types?: Readonly<Record<string, Pick<DescribedAnswer, 'schema' | 'example'>>>
  /**
   * Names of error components that are returned as JSON with HTTP status 200; `ruleError` only of
   * public endpoints, since all others have it.
   */
  readonly refused?: readonly string[]
  /** By other HTTP status: the answer, or the name of its component. */
  readonly others?: Readonly<Record<string, string | DescribedAnswer | RedirectAnswer>>
  /** Example of the same schema with HTTP status 503. */
  readonly unavailableExample?: unknown
}

/** The description. `A`: the answer, unless the call is refused, or `run` sends another one. */
interface Declared<A> {
  readonly access: RouteAccess
  /** Public if `admin.openPaths` has it. */
  readonly openPath?: Config['admin']['openPaths'][number]
  /** `run` calls `admit`: credentials may be in the body, or the roles depend on parameters. */
  readonly isCheckedByRoute?: true
  /** Served by POST, too. */
  readonly isAlsoPosted?: true
  /** A call by GET writes; callers with a session cookie must then use POST. */
  readonly writesByGet?: true
  /** One sentence for the OpenAPI document and the table of permissions. */
  readonly about: string
  readonly config?: Omit<FastifyContextConfig, 'access'>
  readonly request?: EndpointRequest
  readonly answer: EndpointAnswer & { readonly schema: { readonly static: A } }
}

export interface EndpointDescription extends Declared<unknown> {
  readonly method: 'GET' | 'POST'
  readonly path: string
}

/** `D`: the parts of the server that `run` uses. */
export interface Endpoint<D> extends EndpointDescription {
  readonly run: (deps: D, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

/** `run` answers what is described. */
interface Declaration<D, A> extends Declared<A> {
  readonly run: (
    deps: D,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => Promise<NoInfer<A> | { readonly status: 0 } | FastifyReply>
}

/** An endpoint that only reads, unless it says `writesByGet`. */
export function get<D, A>(path: string, declared: Declaration<D, A>): Endpoint<D> {
  return { method: 'GET', path, ...declared }
}

/** An endpoint that writes. */
export function post<D, A>(path: string, declared: Declaration<D, A>): Endpoint<D> {
  return { method: 'POST', path, ...declared }
}

/** An answer by `RequestError`. */
export const refusal = (description: string, status: number, message: string): DescribedAnswer => ({
  description,
  schema: ref('requestError'),
  example: new RequestError(status, message).body(),
})

/** Other answers of an endpoint that needs a caller. */
export const ADMITTED = {
  '400': 'unreadable',
  '401': 'unauthenticated',
  '403': 'notAllowed',
} as const

/** Likewise, if it refuses callers by a code with HTTP status 200. */
export const CODED = {
  '400': 'unreadable',
  '401': 'badToken',
  '403': 'forbidden',
  '503': 'unavailable',
} as const

/** Other answers of an endpoint that reads a body. */
export const BODY = { '400': 'unreadable', '413': 'tooLarge', '415': 'badType' } as const

/** Serves them with their access; those that `openPaths` names are public. */
export function addEndpoints<D>(
  routes: FastifyInstance,
  endpoints: readonly Endpoint<D>[],
  deps: D,
  openPaths: Config['admin']['openPaths'] = [],
): void {
  for (const each of endpoints) {
    const { method, isAlsoPosted, writesByGet, path, isCheckedByRoute, openPath, config } = each
    const reads = method === 'GET' && !writesByGet ? ({ readsByGet: true } as const) : {}
    const isOpen = openPath !== undefined && openPaths.includes(openPath)
    const access = isOpen ? 'public' : isCheckedByRoute ? 'checkedByRoute' : each.access
    routes.route({
      method: isAlsoPosted ? ['GET', 'POST'] : method,
      url: path,
      config: { ...reads, ...config, access },
      handler: (request, reply) => each.run(deps, request, reply),
    })
  }
}

/** Refuses methods other than GET and POST. `use`: what these do. */
export function refuseOtherMethods(
  routes: FastifyInstance,
  { path: url, config }: EndpointDescription,
  use: string,
): void {
  routes.route({
    method: ['PUT', 'PATCH', 'DELETE'],
    url,
    config: { ...config, access: 'checkedByRoute' },
    async handler({ method }, reply) {
      reply.header('allow', 'GET, POST')
      throw new RequestError(405, `${method} is not allowed: use GET to read and POST ${use}`)
    },
  })
}
