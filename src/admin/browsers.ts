/** Protects the control plane from cross-site requests by the browser of an operator. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import { isAddress, isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import { errorBody } from './client-errors.ts'
import { allowOrigin, answerPreflight, isPreflight, type ListedOrigins } from './cors.ts'

/** Values of `Sec-Fetch-Site` that are not cross-site. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none'])

/**
 * The only route for cross-site forms: identity providers post their responses to it. The handler
 * verifies their signatures.
 */
const FORMS_OF_OTHERS = { method: 'POST', url: '/auth/saml/:name/acs' } as const

/**
 * Refuses with 403 cross-site requests of origins that are not listed, and requests to a host name
 * that is not one of the control plane's (DNS rebinding). Without configured names, any name is
 * accepted unless it listens on loopback. Answers 503 to cross-site requests while the list cannot
 * be read.
 */
export function refuseCrossSite(
  server: FastifyInstance,
  admin: Pick<Config['admin'], 'host' | 'openTo' | 'hostNames'>,
  listed: ListedOrigins,
): void {
  const isOurs = addressedBy(admin)
  server.addHook('onRequest', async (request, reply) => {
    // Caches must not reuse the answer for another origin.
    reply.header('vary', 'Origin')
    if (!isOurs(nameIn(request.host))) {
      return refuse(reply, 403, 'the control plane is not addressed by this name')
    }
    if (!isOfOtherSite(request) || isFormOfOthers(request)) return
    const { origin } = request.headers
    try {
      if (origin === undefined || !(await listed()).has(origin)) {
        return refuse(reply, 403, 'pages of other sites may not use the control plane')
      }
    } catch (error) {
      if (!(error instanceof CatalogUnavailableError)) throw error
      return refuse(reply, 503, 'MongoDB is unavailable: cannot check whether this site is listed')
    }
    allowOrigin(origin, reply)
    if (isPreflight(request)) return answerPreflight(reply)
  })
}

function refuse(reply: FastifyReply, code: number, desc: string): FastifyReply {
  return reply.code(code).send(errorBody(code, desc))
}

/** IP addresses are safe from DNS rebinding; monitoring uses them on networks. */
function addressedBy({
  host,
  openTo,
  hostNames,
}: Pick<Config['admin'], 'host' | 'openTo' | 'hostNames'>): (name: string) => boolean {
  const isLocal = isLoopback(host)
  if (hostNames.length === 0 && (!isLocal || openTo === 'network')) return () => true
  const names = new Set([host, ...hostNames].map((name) => name.toLowerCase()))
  return (name) => names.has(name) || (isLocal ? isLoopback(name) : isAddress(name))
}

function isOfOtherSite(request: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, origin } = request.headers
  // Following a link to a page is a legitimate cross-site request.
  const isLink = request.method === 'GET' && mode === 'navigate'
  const isForeignSite = typeof site === 'string' && !OWN_SITES.has(site) && !isLink
  return isForeignSite || (origin !== undefined && !isOwnOrigin(origin, request))
}

/** With TLS, a page loaded without TLS is not trusted. */
function isOwnOrigin(origin: string, { host, protocol }: FastifyRequest): boolean {
  if (!URL.canParse(origin)) return false
  const page = new URL(origin)
  return page.host === host.toLowerCase() && (protocol !== 'https' || page.protocol === 'https:')
}

/** Compares the matched route, not the spelling of the URL. */
function isFormOfOthers({ method, routeOptions }: FastifyRequest): boolean {
  return method === FORMS_OF_OTHERS.method && routeOptions.url === FORMS_OF_OTHERS.url
}

/** Lower case, without the port and the brackets of IPv6. */
function nameIn(addressed: string): string {
  return addressed
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
}
