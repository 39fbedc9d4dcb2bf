/**
 * CORS: sites that operators have listed may use the control plane, no others.
 *
 * Not by `@fastify/cors`: it adds a route without an access rule (`OPTIONS *`), sends preflight
 * answers with a `content-length` (RFC 9110, 8.6) and refuses other OPTIONS requests as text.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SECURITY } from '../catalog/settings/access/security-settings.ts'
import type { CurrentSettings } from '../catalog/settings/current-settings.ts'

/** In the format of the `Origin` header. Rejects with `CatalogUnavailableError`. */
export type ListedOrigins = () => Promise<ReadonlySet<string>>

/** Origins of the current stored settings. */
export function listedOrigins(settings: CurrentSettings): ListedOrigins {
  let known: readonly string[] | null = null
  let origins: ReadonlySet<string> = new Set()
  return async () => {
    const { cors } = await settings.get(SECURITY)
    if (cors.origins === known) return origins
    known = cors.origins
    origins = new Set(known.map(originOf).filter((origin) => origin !== null))
    return origins
  }
}

/** Lower case, without the default port of the scheme. Null for an opaque or invalid origin. */
function originOf(text: string): string | null {
  if (!URL.canParse(text)) return null
  const { origin, username, password } = new URL(text)
  return username === '' && password === '' && origin !== 'null' ? origin : null
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** Request headers beyond those that browsers always permit. */
const HEADERS = 'authorization, content-type, idempotency-key, if-match, x-csrf-token'
/** Response headers that scripts may read. */
const EXPOSED = 'content-disposition, etag, retry-after'
/** Short, so that removing a site from the list soon takes effect. */
const PREFLIGHT_SECONDS = '60'

/** Permits a listed site to read the answer and to send cookies. */
export function allowOrigin(origin: string, reply: FastifyReply): void {
  reply.headers({
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': EXPOSED,
  })
}

/** Whether this is a preflight request, which has no credentials. */
export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

export function answerPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .headers({
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': HEADERS,
      'access-control-max-age': PREFLIGHT_SECONDS,
    })
    .send()
}
