/** Locations of sessions: a bounded cache in front of the ledger's directory. */
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { Ledger, SessionLocation } from '../ledger/ledger.ts'
import { StoreDownError } from '../store/redis.ts'
import { GenerationCache } from './generation-cache.ts'

interface CachedLocation extends SessionLocation {
  readonly origin: string
  /** Session of another origin with the same id; undefined without one. */
  readonly next: CachedLocation | undefined
  /** Key of the session in the ledger, cached because computing it is more expensive. */
  sessionKey: string
  /** When the directory entry was last known to be renewed, by the node's clock. */
  freshMs: number
}

/** Identity of a session. */
type SessionIdentity = Pick<ChargeRequest, 'origin' | 'sessionId'>

export class SessionLocationCache {
  /** By session id, which is cheaper than a name with the origin. */
  readonly #known: GenerationCache<string, CachedLocation>
  readonly #ledger: Ledger
  readonly #ttlMs: number

  constructor(ledger: Ledger, ttlMs: number, entriesMax: number) {
    this.#ledger = ledger
    this.#ttlMs = ttlMs
    this.#known = new GenerationCache(entriesMax)
  }

  /** The cached location. Renews the directory entry of long sessions. */
  peek(session: SessionIdentity, nowMs: number): CachedLocation | undefined {
    let cached = this.#known.get(session.sessionId)
    while (cached !== undefined && cached.origin !== session.origin) cached = cached.next
    if (cached === undefined) return undefined
    if (nowMs - cached.freshMs > this.#ttlMs / 2) {
      cached.freshMs = nowMs
      // If Redis is unavailable, the entry has half its TTL left, and the next worker that uses it
      // renews it.
      this.#ledger.renewLocations([cached.sessionKey]).catch(() => this.forget(session))
    }
    return cached
  }

  remember(
    session: SessionIdentity,
    sessionKey: string,
    { aid, sid }: SessionLocation,
    nowMs: number,
  ): void {
    const { origin, sessionId } = session
    const next = this.#others(session)
    this.#known.set(sessionId, { aid, sid, sessionKey, freshMs: nowMs, origin, next })
  }

  forget(session: SessionIdentity): void {
    const others = this.#others(session)
    if (others === undefined) this.#known.delete(session.sessionId)
    else this.#known.set(session.sessionId, others)
  }

  /** The sessions of other origins with the same id. */
  #others({ origin, sessionId }: SessionIdentity): CachedLocation | undefined {
    let others: CachedLocation | undefined
    let known = this.#known.get(sessionId)
    for (; known !== undefined; known = known.next) {
      if (known.origin !== origin) others = { ...known, next: others }
    }
    return others
  }

  /**
   * Looks up sessions in the directory; null for unknown ones. Errors as in `Ledger.findLocations`.
   */
  async find(
    sessions: readonly { request: SessionIdentity; sessionKey: string }[],
  ): Promise<(SessionLocation | null | StoreDownError)[]> {
    const locations = await this.#ledger.findLocations(sessions.map(({ sessionKey }) => sessionKey))
    for (const [index, { request, sessionKey }] of sessions.entries()) {
      const location = locations[index]
      // The age of the entry is unknown. Assumed to be old, it is renewed on next use.
      if (location === undefined || location === null || location instanceof StoreDownError)
        continue
      this.remember(request, sessionKey, location, 0)
    }
    return locations
  }
}
