/** What proxies say of the client: taken from those that are trusted, and only where it can be. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { addressCheck } from '../catalog/settings/peer-addresses.ts'
import { isAddress } from '../config/hosts.ts'
import { isHostHeader } from '../runtime/http-framing.ts'

const PREFIX = 'x-forwarded-'
const SCHEMES: ReadonlySet<string> = new Set(['http', 'https'])

/** Whether an address is one of a proxy; of no ranges none is. */
export function trustedProxyCheck(ranges: readonly string[]): (address: string) => boolean {
  return ranges.length === 0 ? () => false : addressCheck(ranges)
}

/**
 * Before anything looks at the headers: takes out of the request what somebody else than a trusted
 * proxy has written there, and what is no address, no scheme or no host name. So nothing behind it
 * has to ask who said it.
 */
export function readForwarded(
  server: FastifyInstance,
  isTrustedProxy: (address: string) => boolean,
): void {
  server.addHook('onRequest', async ({ raw }) => {
    const { headers, socket } = raw
    if (!isTrustedProxy(socket.remoteAddress ?? '')) {
      for (const name of Object.keys(headers)) if (name.startsWith(PREFIX)) delete headers[name]
      return
    }
    sanitize(headers, 'x-forwarded-for', addressesIn)
    sanitize(headers, 'x-forwarded-proto', (text) => {
      const scheme = lastOf(text).toLowerCase()
      return SCHEMES.has(scheme) ? scheme : null
    })
    sanitize(headers, 'x-forwarded-host', (text) => {
      const host = lastOf(text)
      return host !== '' && isHostHeader(host) ? host : null
    })
  })
}

function sanitize(
  headers: IncomingHttpHeaders,
  name: string,
  usable: (text: string) => string | null,
): void {
  const given = headers[name]
  if (given === undefined) return
  const value = usable(String(given))
  if (value === null) delete headers[name]
  else headers[name] = value
}

/**
 * The end of the chain, back to the first entry that is no address. Each proxy appends the address
 * that spoke to it, so nothing is known of what stands before an invalid entry.
 */
function addressesIn(text: string): string | null {
  const chain = text.split(',').map((part) => part.trim())
  const usable = chain.slice(chain.findLastIndex((part) => !isAddress(part)) + 1)
  return usable.length === 0 ? null : usable.join(', ')
}

/** That of the proxy which is nearest. */
function lastOf(text: string): string {
  return text.slice(text.lastIndexOf(',') + 1).trim()
}
