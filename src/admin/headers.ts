/**
 * Headers of every answer of the control plane. `@fastify/helmet` sets its headers in a hook, which
 * does not run for invalid URLs, requests that Node refuses, and answers written to the socket.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'

/**
 * Answers are data, not pages: no framing, no caching. Pages set their own
 * `content-security-policy`.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** Requires HTTPS for a year; sent over HTTPS only. */
export const STRICT_TRANSPORT = ['strict-transport-security', 'max-age=31536000'] as const

/** URLs accept host names with `;`, `'`, `,` and `*`, which mean something in a policy. */
const POLICY_ORIGIN = /^https?:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:]+\])(?::\d+)?$/

/** Origin of a page of the web as a source in a `content-security-policy`; null for other texts. */
export function policyOriginOf(address: string): string | null {
  const origin = URL.canParse(address) ? new URL(address).origin : ''
  return POLICY_ORIGIN.test(origin) ? origin : null
}

/** The same headers as raw lines, for answers written to the socket directly. */
export function headerLines(isSecure: boolean): string {
  const all = Object.entries(SECURITY_HEADERS).concat(isSecure ? [[...STRICT_TRANSPORT]] : [])
  return all.map(([name, value]) => `${name}: ${value}\r\n`).join('')
}

/** A response with these headers from the start; routes may override them. */
export class AdminResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  constructor(request: Request) {
    super(request)
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) this.setHeader(name, value)
    if ('encrypted' in request.socket) this.setHeader(...STRICT_TRANSPORT)
  }
}
