/**
 * Keeps pages of other sites from using the control plane through the browser of somebody who can
 * reach it.
 */
import type { FastifyInstance } from 'fastify'
import { isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'

/** Where a page may come from that uses the control plane; all else is another site. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none'])

/**
 * Refuses, with 403, what a browser sends for a page of another site, and on loopback what is
 * addressed to a name: such a name is one that somebody has made point here.
 */
export function refuseOtherSites(server: FastifyInstance, { host, openTo }: Config['admin']): void {
  const isLocal = openTo === 'loopback' && isLoopback(host)
  server.addHook('onRequest', async (request, reply) => {
    const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, origin } = request.headers
    const { host: addressed = '' } = request.headers
    // Following a link to a page that only shows something is what browsers are for.
    const isLink = request.method === 'GET' && mode === 'navigate'
    const isForeignSite = typeof site === 'string' && !OWN_SITES.has(site) && !isLink
    const isForeignOrigin = origin !== undefined && hostIn(origin) !== addressed.toLowerCase()
    const isNamed = isLocal && !isLoopback(nameIn(addressed)) && nameIn(addressed) !== host
    if (!isForeignSite && !isForeignOrigin && !isNamed) return
    const desc = isNamed
      ? 'the control plane is not addressed by this name'
      : 'pages of other sites may not use the control plane'
    return reply.code(403).send({ status: 0, code: 403, desc })
  })
}

function hostIn(origin: string): string | null {
  try {
    return new URL(origin).host
  } catch {
    return null
  }
}

/** Without the port, and without the brackets of IPv6. */
function nameIn(addressed: string): string {
  return addressed.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
}
