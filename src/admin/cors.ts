/** Sites whose pages may use the control plane: those that operators have listed, and no other. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CurrentSettings } from '../catalog/settings/current-settings.ts'
import { SECURITY } from '../catalog/settings/security-settings.ts'

/** As browsers write them in `Origin`. Rejects with `CatalogUnavailableError`. */
export type ListedOrigins = () => Promise<ReadonlySet<string>>

/** Those of the stored settings, as they are now. */
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

/** In small letters and without the port that the scheme has anyway. Null: of nobody. */
function originOf(text: string): string | null {
  if (!URL.canParse(text)) return null
  const { origin, username, password } = new URL(text)
  return username === '' && password === '' && origin !== 'null' ? origin : null
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** What pages may send beside what browsers let them send anyway. */
const HEADERS = 'authorization, content-type, idempotency-key, x-csrf-token'
/** What of an answer their scripts may read. */
const EXPOSED = 'content-disposition, retry-after'
/** Short: who is taken off the list shall not be asked for long. */
const PREFLIGHT_SECONDS = '60'

/** Lets the page of a listed site read the answer; its cookies come along. */
export function allowOrigin(origin: string, reply: FastifyReply): void {
  reply.headers({
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': EXPOSED,
  })
}

/** Whether a browser only asks whether its page may send a request. It has no credentials then. */
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
