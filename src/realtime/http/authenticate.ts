/** Authentication of requests: keys, certificates, addresses, rates of peers. */
import type { Peer, Peers } from '../../catalog/settings/peers/peers.ts'
import type { ClientAuthenticator } from './client-authenticator.ts'
import {
  credentialsIn,
  isToken,
  mayHaveParameters,
  queryCredentials,
} from './client-credentials.ts'
import type { Exchange, Head } from './exchange.ts'
import type { RateLimits } from './rate-limits.ts'
import { type RequestRefusal, refusal } from './refusal.ts'

/**
 * The current peers; null until read for the first time: until then credentials can be neither
 * accepted nor refused.
 */
export type CurrentPeersByKey = () => Pick<Peers, 'byKey'> | null

/** The current peers by certificate; null until read for the first time. */
export type CurrentPeersByCertificate = () => Pick<Peers, 'byCertificate'> | null

/** Properties of the connection. */
export type ConnectionIdentity = Pick<Exchange, 'remoteAddress' | 'certificateNames'>

export type Credentials = Pick<Head, 'authorization' | 'apiKey'>

/**
 * One authentication method: `none` if the request does not use it, `invalid` if its credentials
 * are wrong, `unavailable` if they cannot be checked now.
 */
export type CredentialCheck = (
  credentials: Credentials,
) => Peer | 'none' | 'invalid' | 'unavailable'

/** `peer` is null for a client that need not authenticate and did not. */
export interface Admitted {
  readonly refused: 0
  readonly peer: Peer | null
  /** Refusal of a request that exceeds the rate of its peer; null within the rate. */
  readonly rateRefusal: RequestRefusal | null
}

export type AuthenticationResult = Admitted | RequestRefusal

/**
 * A request with a token or a signature, or with a body that may contain one: `decide` completes
 * the authentication.
 */
export interface PendingAuthentication {
  readonly refused: 'undecided'
  /** Whether the body is needed. */
  readonly needsBody: boolean
  /** Result if it contains no credentials. */
  readonly otherwise: RequestRefusal
}

export interface Authenticator {
  authenticate(
    head: Head,
    exchange: ConnectionIdentity,
  ): AuthenticationResult | PendingAuthentication
  /** `body` is null unless it is needed. Never rejects. */
  decide(
    head: Head,
    body: Buffer | null,
    undecided: PendingAuthentication,
  ): Promise<AuthenticationResult>
}

export interface AuthenticatorOptions {
  /** Tried in this order until one identifies the peer. */
  readonly checks: readonly CredentialCheck[]
  /** Lookup of peers by client certificate. */
  readonly certificates: CurrentPeersByCertificate
  /** Whether requests without credentials are refused. */
  readonly mustAuthenticate: boolean
  /**
   * Whether a request without credentials must address this machine by IP address or as
   * `localhost`.
   */
  readonly isForThisMachine: boolean
  readonly rateLimits: RateLimits
  /** Checks tokens and signatures of API clients. */
  readonly clientAuthenticator: ClientAuthenticator
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { checks, mustAuthenticate, isForThisMachine, rateLimits, clientAuthenticator } = options
  const holderOf = createHolderOf(options.certificates)

  const admit = (peer: Peer, exchange: ConnectionIdentity): AuthenticationResult => {
    const { name, requestsPerSecond } = peer
    if (!peer.allowsAddress(exchange.remoteAddress())) return { ...BAD_ADDRESS, peer: name }
    const retryAfterS = rateLimits.take(peer)
    if (retryAfterS === 0) return { refused: 0, peer, rateRefusal: null }
    const why = `is over ${requestsPerSecond} requests a second, the limit of this key`
    const overRate = { cause: 'rate', peer: name, field: 'rate', why, retryAfterS } as const
    return { refused: 0, peer, rateRefusal: { refused: 429, ...overRate } }
  }

  /** Authenticates a request without key, token and signature by its certificate, if it has one. */
  const admitHolder = (head: Head, exchange: ConnectionIdentity): AuthenticationResult | null => {
    const holder = holderOf(exchange.certificateNames())
    if (holder === 'none' || holder === 'nobody') return null
    // A browser presents a certificate for any page that sends a request here.
    if (head.isBrowser) return BROWSER
    return holder === 'unavailable' ? UNAVAILABLE : admit(holder, exchange)
  }

  return {
    authenticate(head, exchange) {
      if (head.authorization === null && head.apiKey === null) {
        const pending = head.query === '' ? null : signedOrNull(head)
        if (pending !== null) return pending
        const holder = admitHolder(head, exchange)
        if (holder !== null) return holder
        if (mustAuthenticate) return mayHaveParameters(head) ? MAY_BE_SIGNED : NOT_AUTHENTICATED
        // A page open in a browser on this machine can reach loopback, too.
        if (head.isBrowser) return BROWSER
        // A site can resolve its own name to this machine (DNS rebinding); its page then need not
        // send `Origin`.
        return isForThisMachine && isSite(head.host) ? SITE : ANONYMOUS
      }
      let isUnavailable = false
      for (const check of checks) {
        const found = check(head)
        if (found === 'unavailable') isUnavailable = true
        else if (found !== 'none' && found !== 'invalid') {
          const isAnothers = !mayPresent(found, holderOf(exchange.certificateNames()))
          return isAnothers ? { ...BAD_CERTIFICATE, peer: found.name } : admit(found, exchange)
        }
      }
      if (isUnavailable) return UNAVAILABLE
      if (head.apiKey !== null) return BAD_KEY
      const token = tokenOf(head)
      if (token === null) return BAD_AUTHORIZATION
      // Credentials in the query must be checked even if the token is cached.
      const known = head.query === '' ? clientAuthenticator.cached(token) : null
      return known === null ? HAS_TOKEN : { refused: 0, peer: known, rateRefusal: null }
    },

    async decide(head, body, { otherwise }) {
      const credentials = credentialsIn(head, tokenOf(head), body)
      if (credentials === null) return otherwise
      if ('refused' in credentials) return credentials
      const found =
        'token' in credentials
          ? await clientAuthenticator.authenticateToken(credentials.token, credentials.field)
          : await clientAuthenticator.authenticateSignature(
              credentials.parameters,
              head.query.length + (body?.length ?? 0),
            )
      return 'refused' in found ? found : { refused: 0, peer: found, rateRefusal: null }
    },
  }
}

/** `none`: no certificate; `nobody`: it matches no peer or several. */
type CertificateHolder = Peer | 'none' | 'nobody' | 'unavailable'

function createHolderOf(certificates: CurrentPeersByCertificate) {
  return (names: readonly string[] | null): CertificateHolder => {
    if (names === null) return 'none'
    const peers = certificates()
    return peers === null ? 'unavailable' : (peers.byCertificate(names) ?? 'nobody')
  }
}

/** Whether a client with the key of a peer may present this certificate. */
function mayPresent(peer: Peer, holder: CertificateHolder): boolean {
  if (holder === 'none') return true
  if (typeof holder === 'object') return holder.name === peer.name
  return holder === 'nobody' && peer.certificateNames.length === 0
}

/** Null if the query contains no credentials. */
function signedOrNull(head: Head): PendingAuthentication | null {
  const has = queryCredentials(head.query)
  if (has === 'none') return null
  return has === 'token' ? HAS_TOKEN : MAY_BE_SIGNED
}

/** The token of the header; null if absent. */
function tokenOf({ authorization }: Credentials): string | null {
  const bearer = authorization === null ? null : bearerOf(authorization)
  return bearer !== null && isToken(bearer) ? bearer : null
}

/** Checks keys sent as `X-Api-Key: KEY` or `Authorization: Bearer KEY`. */
export function createKeyCheck(peersNow: CurrentPeersByKey): CredentialCheck {
  return (credentials) => {
    const key = keyOf(credentials)
    if (key === null) return 'none'
    const peers = peersNow()
    if (peers === null) return 'unavailable'
    if (key === '' || key.length > KEY_CHARS_MAX) return 'invalid'
    return peers.byKey(key) ?? 'invalid'
  }
}

/** Longer than any key; bounds the work of hashing. */
const KEY_CHARS_MAX = 1024

const BEARER = 'bearer '

/** Null if absent. Two different keys yield '', which is never a valid key. */
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

/** Whether a `Host` is a dotted name, neither an address nor a name of the local network. */
function isSite(host: string): boolean {
  if (!host.includes('.') || host.startsWith('[')) return false
  const name = host.replace(PORT, '').toLowerCase()
  return !IPV4.test(name) && !name.endsWith('.localhost')
}

const ANONYMOUS: Admitted = { refused: 0, peer: null, rateRefusal: null }

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
const SITE = refusal(403, 'browser', 'host', 'is the name of a site, which requires authentication')
const BAD_CERTIFICATE = refusal(403, 'certificate', 'certificate', 'is not that of this key')
const BAD_ADDRESS = refusal(403, 'address', 'address', 'is not one that may use this key')

const HAS_TOKEN: PendingAuthentication = {
  refused: 'undecided',
  needsBody: false,
  otherwise: BAD_AUTHORIZATION,
}
/** Also for requests of unknown senders: the body is read only if it may contain credentials. */
const MAY_BE_SIGNED: PendingAuthentication = {
  refused: 'undecided',
  needsBody: true,
  otherwise: NOT_AUTHENTICATED,
}
