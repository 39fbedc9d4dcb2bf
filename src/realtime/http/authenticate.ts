/** Who sends a request, and whether it may: keys, addresses and rates of network elements. */
import type { Peer, Peers } from '../../catalog/peers.ts'
import type { RefusalCause } from '../../runtime/request-metrics.ts'
import type { Exchange, Head } from './exchange.ts'
import type { RateLimits } from './rate-limits.ts'

/** Those of now; null as long as they were never read: nobody can be refused then, nor let in. */
export type PeersNow = () => Pick<Peers, 'byKey'> | null

export type Credentials = Pick<Head, 'authorization' | 'apiKey'>

/**
 * One way to authenticate: `none` if the request does not use it, `invalid` if it does and is
 * wrong, `unavailable` if that cannot be told now.
 */
export type CredentialCheck = (
  credentials: Credentials,
) => Peer | 'none' | 'invalid' | 'unavailable'

/** Why a request is refused, in the plain dialect; `peer` is '' if it is not known. */
export interface Refusal {
  readonly refused: 401 | 403 | 429 | 503
  readonly cause: RefusalCause
  readonly peer: string
  readonly field: string
  readonly why: string
  readonly retryAfterS: number
}

/** Null for a peer that need not authenticate, and did not. */
export interface Admitted {
  readonly refused: 0
  readonly peer: Peer | null
}

export type Verdict = Admitted | Refusal

export interface Authenticator {
  authenticate(head: Head, exchange: Pick<Exchange, 'remoteAddress'>): Verdict
}

export interface AuthenticatorOptions {
  /** Asked in this order, until one knows the peer. */
  readonly checks: readonly CredentialCheck[]
  /** Whether nobody gets in without credentials. */
  readonly mustAuthenticate: boolean
  /** Whether who has none must have asked for this machine, by its address or as `localhost`. */
  readonly isForThisMachine: boolean
  readonly rateLimits: RateLimits
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { checks, mustAuthenticate, isForThisMachine, rateLimits } = options

  const admit = (peer: Peer, exchange: Pick<Exchange, 'remoteAddress'>): Verdict => {
    const { name, requestsPerSecond } = peer
    if (!peer.allows(exchange.remoteAddress())) return { ...BAD_ADDRESS, peer: name }
    const retryAfterS = rateLimits.take(peer)
    if (retryAfterS === 0) return { refused: 0, peer }
    const why = `is over ${requestsPerSecond} requests a second, which is what this key may send`
    return { refused: 429, cause: 'rate', peer: name, field: 'rate', why, retryAfterS }
  }

  return {
    authenticate(head, exchange) {
      if (head.authorization === null && head.apiKey === null) {
        if (mustAuthenticate) return NOT_AUTHENTICATED
        // A page that somebody has open on this machine reaches loopback too.
        if (head.isBrowser) return BROWSER
        // Its site can have let its own name stand for this machine; then it need not say so.
        return isForThisMachine && isSite(head.host) ? SITE : ANYBODY
      }
      let isUnavailable = false
      for (const check of checks) {
        const found = check(head)
        if (found === 'unavailable') isUnavailable = true
        else if (found !== 'none' && found !== 'invalid') return admit(found, exchange)
      }
      return isUnavailable ? UNAVAILABLE : head.apiKey === null ? BAD_AUTHORIZATION : BAD_KEY
    },
  }
}

/** The check of keys, which come as `X-Api-Key: KEY` or `Authorization: Bearer KEY`. */
export function createKeyCheck(peersNow: PeersNow): CredentialCheck {
  return (credentials) => {
    const key = keyOf(credentials)
    if (key === null) return 'none'
    const peers = peersNow()
    if (peers === null) return 'unavailable'
    if (key === '' || key.length > KEY_CHARS_MAX) return 'invalid'
    return peers.byKey(key) ?? 'invalid'
  }
}

/** Longer than any key; nobody should make us hash half a megabyte. */
const KEY_CHARS_MAX = 1024

const BEARER = 'bearer '

/** Null if there is none. Of two that differ one is wrong: empty, which no key is. */
function keyOf({ authorization, apiKey }: Credentials): string | null {
  const bearer = authorization === null ? null : bearerOf(authorization)
  if (apiKey === null || bearer === null) return apiKey ?? bearer
  return apiKey === bearer ? apiKey : ''
}

function bearerOf(authorization: string): string | null {
  if (authorization.slice(0, BEARER.length).toLowerCase() !== BEARER) return null
  return authorization.slice(BEARER.length).trim()
}

const PORT = /:\d*$/
const IPV4 = /^[\d.]+$/

/** Whether a `Host` is a name with points in it: no address, and no name of the local network. */
function isSite(host: string): boolean {
  if (!host.includes('.') || host.startsWith('[')) return false
  const name = host.replace(PORT, '').toLowerCase()
  return !IPV4.test(name) && !name.endsWith('.localhost')
}

const ANYBODY: Admitted = { refused: 0, peer: null }

const refusal = (
  refused: Refusal['refused'],
  cause: RefusalCause,
  field: string,
  why: string,
): Refusal => ({ refused, cause, peer: '', field, why, retryAfterS: 1 })

const NOT_AUTHENTICATED = refusal(
  401,
  'unauthenticated',
  'authorization',
  'is required: Bearer KEY, or the key in x-api-key',
)
const BAD_AUTHORIZATION = refusal(401, 'credentials', 'authorization', 'has no key that is known')
const BAD_KEY = refusal(401, 'credentials', 'x-api-key', 'has no key that is known')
const UNAVAILABLE = refusal(503, 'unavailable', 'keys', 'were not read yet')
const BROWSER = refusal(403, 'browser', 'origin', 'is a page in a browser, which must authenticate')
const SITE = refusal(
  403,
  'browser',
  'host',
  'is the name of a site, through which one must authenticate',
)
const BAD_ADDRESS = refusal(403, 'address', 'address', 'is not one that may use this key')
