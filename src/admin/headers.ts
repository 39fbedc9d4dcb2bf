/** Headers that every answer of the control plane has. */
import { type IncomingMessage, ServerResponse } from 'node:http'

/**
 * For browsers: what is answered is data and no page, belongs in no frame and in no cache. A page
 * says itself what it needs (`content-security-policy`).
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** That browsers shall come by HTTPS only from now on, for a year; sent where they do already. */
export const STRICT_TRANSPORT = ['strict-transport-security', 'max-age=31536000'] as const

/** The same as lines of a head, each with its end, for answers that are written by hand. */
export function headerLines(isSecure: boolean): string {
  const all = Object.entries(SECURITY_HEADERS).concat(isSecure ? [[...STRICT_TRANSPORT]] : [])
  return all.map(([name, value]) => `${name}: ${value}\r\n`).join('')
}

/** An answer that has them from the beginning, whoever gives it; routes may set others instead. */
export class AdminResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  constructor(request: Request) {
    super(request)
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) this.setHeader(name, value)
    if ('encrypted' in request.socket) this.setHeader(...STRICT_TRANSPORT)
  }
}
