/** Clients of machines that charge with a token or a signature, as peers. */
import { hash } from 'node:crypto'
import type { ApiClient } from '../../catalog/clients/clients.ts'
import type { CurrentClients } from '../../catalog/clients/clients-watch.ts'
import type { Peer } from '../../catalog/settings/peers.ts'
import { checkSignature } from '../../catalog/signature/check-signature.ts'
import type { SentParameters } from '../../catalog/signature/signed-text.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { ExpiringKeys } from '../../store/expiring.ts'
import { StoreDownError } from '../../store/redis.ts'
import type { TokenKind } from '../../store/tokens.ts'
import { type RequestRefusal, refusal } from './refusal.ts'

/** What a client must be allowed to charge; `admin` always is. */
export const CHARGE_ROLES: readonly string[] = ['charge', 'admin']

/** In front of the name of a client, where a peer has its own: no peer has a colon in its name. */
export const CLIENT_PREFIX = 'client:'

/** What is kept of tokens and signatures, for all nodes and both ports. */
export interface ClientAuthenticatorStore {
  readonly tokens: Pick<TokenKind, 'find'>
  readonly used: Pick<ExpiringKeys, 'setOnce'>
  close(): Promise<void>
}

export interface ClientAuthenticatorOptions {
  /** Null as long as they were never read. */
  readonly now: () => CurrentClients | null
  /** Opens it when it is needed first; never rejects. */
  readonly open: () => Promise<ClientAuthenticatorStore>
  readonly clock: Clock
  /** Never goes back. */
  readonly elapsedMs: () => number
  readonly log: Pick<Logger, 'error'>
}

export interface ClientAuthenticator {
  /** Whose token it is as far as that is known here; null: it has to be asked for. */
  cached(token: string): Peer | null
  /** Never rejects. `field`: where the token came from, for the refusal. */
  authenticateToken(token: string, field: string): Promise<Peer | RequestRefusal>
  /** Never rejects. `bytes`: size of what was signed. */
  authenticateSignature(sent: SentParameters, bytes: number): Promise<Peer | RequestRefusal>
  /** When nobody is asked any more. */
  idle(): Promise<void>
  close(): Promise<void>
}

/** A token that was revoked is good for so long at most. */
const CACHED_MS = 1_000
const CACHED_MAX = 10_000
/** Questions under way; tokens that were good before are asked for all the same. */
const CHECKS_MAX = 128
/** What one signature may cost (about 2 ms), and all of them in a second: keys must not wait. */
const WORK_BYTES_MAX = 1024 * 1024
const WORK_BYTES_PER_S = 32 * 1024 * 1024
const SECOND_MS = 1_000

interface CachedToken {
  readonly client: string
  readonly fingerprint: string
  readonly peer: Peer
  /** Of the token. */
  readonly expiresMs: number
  /** By `elapsedMs`. */
  readonly askedMs: number
}

export function createClientAuthenticator(
  options: ClientAuthenticatorOptions,
): ClientAuthenticator {
  return new StoredClientAuthenticator(options)
}

class StoredClientAuthenticator implements ClientAuthenticator {
  readonly #options: ClientAuthenticatorOptions
  /** By the digest of the token: how long it takes tells nothing of tokens. Oldest first. */
  readonly #cached = new Map<string, CachedToken>()
  readonly #tokenChecks = new Map<string, Promise<Peer | RequestRefusal>>()
  readonly #underWay = new Set<Promise<unknown>>()
  #store: Promise<ClientAuthenticatorStore> | null = null
  /** When what was hashed would be paid for, by `elapsedMs`. */
  #paidMs = 0

  constructor(options: ClientAuthenticatorOptions) {
    this.#options = options
  }

  cached(token: string): Peer | null {
    const known = this.#cached.get(digestOf(token))
    if (known === undefined) return null
    const { clock, elapsedMs } = this.#options
    const isFresh = elapsedMs() - known.askedMs < CACHED_MS && clock.nowMs() < known.expiresMs
    const client = isFresh ? this.#clientOf(known.client, known.fingerprint) : null
    return client !== null && mayCharge(client) ? known.peer : null
  }

  authenticateToken(token: string, field: string): Promise<Peer | RequestRefusal> {
    const digest = digestOf(token)
    const asked = this.#tokenChecks.get(digest)
    if (asked !== undefined) return asked
    if (this.#underWay.size >= CHECKS_MAX && !this.#cached.has(digest)) return Promise.resolve(BUSY)
    const asking = this.#track(() => this.#findToken(token, digest, field)).finally(() =>
      this.#tokenChecks.delete(digest),
    )
    this.#tokenChecks.set(digest, asking)
    return asking
  }

  authenticateSignature(sent: SentParameters, bytes: number): Promise<Peer | RequestRefusal> {
    if (this.#underWay.size >= CHECKS_MAX) return Promise.resolve(BUSY)
    return this.#track(() => this.#checkSignature(sent, bytes))
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
    const askedMs = elapsedMs()
    const { tokens } = await this.#open()
    const holder = await tokens.find(token)
    const unknown = refusal(401, 'credentials', field, 'has no key or token that is known')
    if (holder === null || holder.expiresMs <= clock.nowMs()) return this.#forget(digest, unknown)
    const client = this.#clientOf(holder.client, holder.fingerprint)
    if (client === null) return this.#forget(digest, unknown)
    // What a person may is for the control plane to know.
    if (holder.user !== null || !mayCharge(client)) return this.#forget(digest, noRole(client.name))
    const peer = peerOf(client.name)
    this.#cached.delete(digest)
    const { fingerprint } = client
    const known = { client: client.name, fingerprint, peer, expiresMs: holder.expiresMs, askedMs }
    this.#cached.set(digest, known)
    if (this.#cached.size > CACHED_MAX) this.#cached.delete(this.#cached.keys().next().value ?? '')
    return peer
  }

  #forget(digest: string, why: RequestRefusal): RequestRefusal {
    this.#cached.delete(digest)
    return why
  }

  async #checkSignature(sent: SentParameters, bytes: number): Promise<Peer | RequestRefusal> {
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
    const found = await checkSignature(sent, terms, used)
    if ('refused' in found) return badSignature(found.refused)
    return mayCharge(found) ? peerOf(found.name) : noRole(found.name)
  }

  /** Whether there is time for so many bytes: a second of them ahead at most. */
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

  #track(ask: () => Promise<Peer | RequestRefusal>): Promise<Peer | RequestRefusal> {
    const asking = ask()
      .catch((error: unknown) => {
        if (!(error instanceof StoreDownError)) {
          this.#options.log.error({ err: error }, 'a client could not be authenticated')
        }
        return STORE_DOWN
      })
      .finally(() => this.#underWay.delete(asking))
    this.#underWay.add(asking)
    return asking
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
