/** Client information from proxy headers, accepted from trusted proxies only. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { addressCheck } from '../catalog/settings/peers/peer-addresses.ts'
import { isAddress } from '../config/hosts.ts'
import { isHostHeader } from '../runtime/http-framing.ts'

const PREFIX = 'x-forwarded-'
const SCHEMES: ReadonlySet<string> = new Set(['http', 'https'])

/** Whether an address belongs to a trusted proxy; always false without ranges. */
export function trustedProxyCheck(ranges: readonly string[]): (address: string) => boolean {
  return ranges.length === 0 ? () => false : addressCheck(ranges)
}

/**
 * Removes forwarding headers that do not come from a trusted proxy or do not contain a valid
 * address, scheme or host name. It runs before anything reads the headers, so that no later code
 * has to check their source.
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
 * The end of the list, back to the first invalid entry. Each proxy appends the address of its
 * client, so entries before an invalid one are not trustworthy.
 */
function addressesIn(text: string): string | null {
  const chain = text.split(',').map((part) => part.trim())
  const usable = chain.slice(chain.findLastIndex((part) => !isAddress(part)) + 1)
  return usable.length === 0 ? null : usable.join(', ')
}

/** The entry of the nearest proxy. */
function lastOf(text: string): string {
  return text.slice(text.lastIndexOf(',') + 1).trim()
}
