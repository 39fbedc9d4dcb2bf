/**
 * Keeps pages of other sites from using the control plane through the browser of somebody who can
 * reach it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import { isAddress, isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import { errorBody } from './client-errors.ts'
import { allowOrigin, answerPreflight, isPreflight, type ListedOrigins } from './cors.ts'

/** Where a page may come from that uses the control plane; all else is another site. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none'])

/**
 * Where forms of other sites arrive: identity providers send those who have logged in. The route
 * itself looks at who has signed what it is sent.
 */
const FORMS_OF_OTHERS = { method: 'POST', url: '/auth/saml/:name/acs' } as const

/**
 * Refuses, with 403, what a browser sends for a page of another site that is not listed, and what
 * is addressed to a name that is not the control plane's: somebody may have made it point here.
 * Without a list of its own names that is any name, while it listens on loopback. 503 for pages of
 * other sites as long as nobody can tell which are listed.
 */
export function refuseCrossSite(
  server: FastifyInstance,
  admin: Pick<Config['admin'], 'host' | 'openTo' | 'hostNames'>,
  listed: ListedOrigins,
): void {
  const isOurs = addressedBy(admin)
  server.addHook('onRequest', async (request, reply) => {
    // What is allowed to one site must not be kept for another one.
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
      return refuse(
        reply,
        503,
        'MongoDB is unavailable: nobody can tell whether this site is listed',
      )
    }
    allowOrigin(origin, reply)
    if (isPreflight(request)) return answerPreflight(reply)
  })
}

function refuse(reply: FastifyReply, code: number, desc: string): FastifyReply {
  return reply.code(code).send(errorBody(code, desc))
}

/** Addresses nobody can make point elsewhere; beyond loopback, monitors go by them. */
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
  // Following a link to a page that only shows something is what browsers are for.
  const isLink = request.method === 'GET' && mode === 'navigate'
  const isForeignSite = typeof site === 'string' && !OWN_SITES.has(site) && !isLink
  return isForeignSite || (origin !== undefined && !isOwnOrigin(origin, request))
}

/** A page that came without TLS may be anybody's, where there is TLS. */
function isOwnOrigin(origin: string, { host, protocol }: FastifyRequest): boolean {
  if (!URL.canParse(origin)) return false
  const page = new URL(origin)
  return page.host === host.toLowerCase() && (protocol !== 'https' || page.protocol === 'https:')
}

/** By the route that was found, however its address is written. */
function isFormOfOthers({ method, routeOptions }: FastifyRequest): boolean {
  return method === FORMS_OF_OTHERS.method && routeOptions.url === FORMS_OF_OTHERS.url
}

/** In small letters, without the port, and without the brackets of IPv6. */
function nameIn(addressed: string): string {
  return addressed
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
}
