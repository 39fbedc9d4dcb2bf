/** Calls of the admin port, or of the charging port. */
import type { paths as Paths } from '../dist/api.d.ts'
import { errorOf } from './errors.ts'
import type { AnswerOf, BodyOf, PathOf, QueryOf } from './types.ts'

export interface ClientOptions {
  /** Address of the port, such as `http://127.0.0.1:8182`. */
  readonly url: string
  /** Access token, or key of a network element; absent if the port needs none. */
  readonly token?: string | (() => string | Promise<string>)
}

export interface CallOptions {
  /** Repeats of a write with the same key have one effect. */
  readonly idempotencyKey?: string
  /** Version of the revision that is to be changed; refused if there is a newer one. */
  readonly ifMatch?: string
  readonly signal?: AbortSignal
}

/** `P`: the paths of the API, as openapi-typescript generates them. Calls throw `ApiError`. */
export interface Client<P> {
  /** Parameters are sent in the query. */
  get<K extends PathOf<P, 'get'>>(
    path: K,
    ...given: QueryOf<P, K, CallOptions>
  ): Promise<AnswerOf<P, 'get', K>>
  /** Parameters are sent as JSON. */
  post<K extends PathOf<P, 'post'>>(
    path: K,
    ...given: BodyOf<P, K, CallOptions>
  ): Promise<AnswerOf<P, 'post', K>>
}

/** By default for the admin port; for the charging port `createClient<ChargingPaths>(…)`. */
export function createClient<P = Paths>({ url, token }: ClientOptions): Client<P> {
  const base = url.replace(/\/+$/, '')

  async function call(path: string, body: string | null, options: CallOptions): Promise<unknown> {
    const { idempotencyKey, ifMatch, signal } = options
    const bearer = typeof token === 'function' ? await token() : token
    // The error of fetch would quote the token.
    if (bearer !== undefined && /\p{Cc}/u.test(bearer)) {
      throw new TypeError('The token has a line break or another control character')
    }
    const response = await fetch(`${base}${path}`, {
      method: body === null ? 'GET' : 'POST',
      headers: {
        ...(body !== null && { 'content-type': 'application/json' }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
      },
      body,
      // A redirect could get the secrets of the request, or make a GET of a POST: it is a refusal.
      redirect: 'manual',
      ...(signal !== undefined && { signal }),
    })
    const answer = parsed(await response.text())
    const error = errorOf(response.status, answer)
    if (error !== null) throw error
    return answer
  }

  const client = {
    get: (path: string, parameters: object = {}, options: CallOptions = {}) => {
      const present = Object.entries(parameters).filter(([, value]) => value !== undefined)
      const query = new URLSearchParams(present.map(([name, value]) => [name, queryText(value)]))
      return call(query.size === 0 ? path : `${path}?${query}`, null, options)
    },
    post: (path: string, body: object = {}, options: CallOptions = {}) =>
      call(path, JSON.stringify(body), options),
  }
  return client as Client<P>
}

/** Compound values as JSON text, but dates in ISO 8601. */
function queryText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  if (!('sec' in value && 'usec' in value)) return JSON.stringify(value)
  return new Date(Number(value.sec) * 1000 + Number(value.usec) / 1000).toISOString()
}

/** Undefined if the text is not JSON: a proxy may answer in HTML. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
