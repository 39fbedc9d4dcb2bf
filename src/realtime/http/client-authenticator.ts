/** Authenticates API clients by token or signature, and represents them as peers. */
import { hash } from 'node:crypto'
import type { ApiClient } from '../../catalog/clients/clients.ts'
import type { CurrentClients } from '../../catalog/clients/clients-watch.ts'
import type { Peer } from '../../catalog/settings/peers/peers.ts'
import { checkSignature } from '../../catalog/signature/check-signature.ts'
import type { OrderedParameters } from '../../catalog/signature/signed-text.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { ExpiringKeys } from '../../store/expiring.ts'
import { StoreDownError } from '../../store/redis.ts'
import type { TokenKind } from '../../store/tokens.ts'
import { type RequestRefusal, refusal } from './refusal.ts'

/** Roles of which a client needs one; `admin` includes charging. */
export const CHARGE_ROLES: readonly string[] = ['charge', 'admin']

/** Prefix of a client's name where peers have theirs; a peer name contains no colon. */
export const CLIENT_PREFIX = 'client:'

/** Store of tokens and used signatures, shared by all nodes and both ports. */
export interface ClientAuthenticatorStore {
  readonly tokens: Pick<TokenKind, 'find'>
  readonly used: Pick<ExpiringKeys, 'setOnce'>
  close(): Promise<void>
}

export interface ClientAuthenticatorOptions {
  /** Null until read for the first time. */
  readonly now: () => CurrentClients | null
  /** Opens the store on first use; never rejects. */
  readonly open: () => Promise<ClientAuthenticatorStore>
  readonly clock: Clock
  /** Monotonic clock. */
  readonly elapsedMs: () => number
  readonly log: Pick<Logger, 'error'>
}

export interface ClientAuthenticator {
  /** The client of a cached token; null if the store has to be queried. */
  cached(token: string): Peer | null
  /** Never rejects. `field`: the source of the token, for refusals. */
  authenticateToken(token: string, field: string): Promise<Peer | RequestRefusal>
  /** Never rejects. `bytes`: size of the signed data. */
  authenticateSignature(
    parameters: OrderedParameters,
    bytes: number,
  ): Promise<Peer | RequestRefusal>
  /** Resolves when no check is in flight. */
  idle(): Promise<void>
  close(): Promise<void>
}

/** Cache time of a token: a revoked one is accepted for at most this time. */
const CACHED_MS = 1_000
const CACHED_MAX = 10_000
/** Limit of checks in flight; cached tokens are exempt. */
const CHECKS_MAX = 128
/** Limit of hashing per signature (about 2 ms) and per second: key checks must not be delayed. */
const WORK_BYTES_MAX = 1024 * 1024
const WORK_BYTES_PER_S = 32 * 1024 * 1024
const SECOND_MS = 1_000

interface CachedToken {
  readonly client: string
  readonly fingerprint: string
  readonly peer: Peer
  /** Expiry of the token. */
  readonly expiresMs: number
  /** Time of the query by `elapsedMs`. */
  readonly queriedMs: number
}

export function createClientAuthenticator(
  options: ClientAuthenticatorOptions,
): ClientAuthenticator {
  return new StoredClientAuthenticator(options)
}

class StoredClientAuthenticator implements ClientAuthenticator {
  readonly #options: ClientAuthenticatorOptions
  /** By digest of the token, so that timing reveals nothing about tokens. Oldest first. */
  readonly #cached = new Map<string, CachedToken>()
  readonly #tokenChecks = new Map<string, Promise<Peer | RequestRefusal>>()
  readonly #underWay = new Set<Promise<unknown>>()
  #store: Promise<ClientAuthenticatorStore> | null = null
  /** Time by `elapsedMs` until which the hashing budget is spent. */
  #paidMs = 0

  constructor(options: ClientAuthenticatorOptions) {
    this.#options = options
  }

  cached(token: string): Peer | null {
    const cached = this.#cached.get(digestOf(token))
    if (cached === undefined) return null
    const { clock, elapsedMs } = this.#options
    const isFresh = elapsedMs() - cached.queriedMs < CACHED_MS && clock.nowMs() < cached.expiresMs
    const client = isFresh ? this.#clientOf(cached.client, cached.fingerprint) : null
    return client !== null && mayCharge(client) ? cached.peer : null
  }

  authenticateToken(token: string, field: string): Promise<Peer | RequestRefusal> {
    const digest = digestOf(token)
    const current = this.#tokenChecks.get(digest)
    if (current !== undefined) return current
    if (this.#underWay.size >= CHECKS_MAX && !this.#cached.has(digest)) return Promise.resolve(BUSY)
    const check = this.#track(() => this.#findToken(token, digest, field)).finally(() =>
      this.#tokenChecks.delete(digest),
    )
    this.#tokenChecks.set(digest, check)
    return check
  }

  authenticateSignature(
    parameters: OrderedParameters,
    bytes: number,
  ): Promise<Peer | RequestRefusal> {
    if (this.#underWay.size >= CHECKS_MAX) return Promise.resolve(BUSY)
    return this.#track(() => this.#checkSignature(parameters, bytes))
  }

  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  async close(): Promise<void> {
    await (await this.#store)?.close()
  }

  async #findToken(token: string, digest: string, field: string): Promise<Peer | RequestRefusal> {
    const { now, clock, elapsedMs } = this.#options
    if (now() === null) return NOT_READ
    const queriedMs = elapsedMs()
    const { tokens } = await this.#open()
    const holder = await tokens.find(token)
    const unknown = refusal(401, 'credentials', field, 'has no key or token that is known')
    if (holder === null || holder.expiresMs <= clock.nowMs()) return this.#forget(digest, unknown)
    const client = this.#clientOf(holder.client, holder.fingerprint)
    if (client === null) return this.#forget(digest, unknown)
    // Permissions of users are known to the control plane only.
    if (holder.user !== null || !mayCharge(client)) return this.#forget(digest, noRole(client.name))
    const peer = peerOf(client.name)
    this.#cached.delete(digest)
    const { fingerprint } = client
    const cached = {
      client: client.name,
      fingerprint,
      peer,
      expiresMs: holder.expiresMs,
      queriedMs,
    }
    this.#cached.set(digest, cached)
    if (this.#cached.size > CACHED_MAX) this.#cached.delete(this.#cached.keys().next().value ?? '')
    return peer
  }

  #forget(digest: string, why: RequestRefusal): RequestRefusal {
    this.#cached.delete(digest)
    return why
  }

  async #checkSignature(
    parameters: OrderedParameters,
    bytes: number,
  ): Promise<Peer | RequestRefusal> {
    const { now, clock } = this.#options
    const stored = now()
    if (stored === null) return NOT_READ
    const { enabled, windowMs } = stored.signature
    if (!enabled) return badSignature('signatures are switched off (security.signature.enabled)')
    const nowMs = clock.nowMs()
    const signers = stored.clients.signers(nowMs)
    if (!this.#mayWork(bytes * signers.length)) return BUSY
    const { used } = await this.#open()
    const terms = { signers, nowMs, windowMs, workBytesMax: WORK_BYTES_MAX }
    const found = await checkSignature(parameters, terms, used)
    if ('refused' in found) return badSignature(found.refused)
    return mayCharge(found) ? peerOf(found.name) : noRole(found.name)
  }

  /** Whether the hashing budget allows `bytes`: it may be overdrawn by at most one second. */
  #mayWork(bytes: number): boolean {
    const nowMs = this.#options.elapsedMs()
    const fromMs = Math.max(nowMs, this.#paidMs)
    if (fromMs - nowMs > SECOND_MS) return false
    this.#paidMs = fromMs + (bytes / WORK_BYTES_PER_S) * SECOND_MS
    return true
  }

  #clientOf(name: string, fingerprint: string): ApiClient | null {
    const { now, clock } = this.#options
    const client = now()?.clients.byName(name, clock.nowMs()) ?? null
    return client !== null && client.fingerprint === fingerprint ? client : null
  }

  #open(): Promise<ClientAuthenticatorStore> {
    this.#store ??= this.#options.open()
    return this.#store
  }

  #track(run: () => Promise<Peer | RequestRefusal>): Promise<Peer | RequestRefusal> {
    const check = run()
      .catch((error: unknown) => {
        if (!(error instanceof StoreDownError)) {
          this.#options.log.error({ err: error }, 'a client could not be authenticated')
        }
        return STORE_DOWN
      })
      .finally(() => this.#underWay.delete(check))
    this.#underWay.add(check)
    return check
  }
}

function digestOf(token: string): string {
  return hash('sha256', token)
}

function mayCharge({ roles }: Pick<ApiClient, 'roles'>): boolean {
  return roles.some((role) => CHARGE_ROLES.includes(role))
}

function peerOf(client: string): Peer {
  return {
    name: CLIENT_PREFIX + client,
    allowsAddress: () => true,
    requestsPerSecond: 0,
    burst: 0,
    fileTypes: null,
    certificateNames: [],
    diameter: null,
  }
}

const badSignature = (why: string) => refusal(401, 'credentials', 'signature', why)

function noRole(client: string): RequestRefusal {
  const why = `must have the role ${CHARGE_ROLES.join(' or ')}`
  return { ...refusal(403, 'role', 'client', why), peer: CLIENT_PREFIX + client }
}

const NOT_READ = refusal(503, 'unavailable', 'clients', 'were not read yet')
const STORE_DOWN = refusal(503, 'unavailable', 'credentials', 'cannot be checked now')
const BUSY = refusal(503, 'unavailable', 'credentials', 'cannot be checked now: there are too many')
