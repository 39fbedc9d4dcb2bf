/** Locations of sessions: a bounded cache in front of the ledger's directory. */
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { Ledger, SessionLocation } from '../ledger/ledger.ts'
import { StoreDownError } from '../store/redis.ts'
import { GenerationCache } from './generation-cache.ts'

interface CachedLocation extends SessionLocation {
  /** Key of the session in the ledger, cached because computing it is more expensive. */
  sessionKey: string
  /** When the directory entry was last known to be renewed, by the node's clock. */
  freshMs: number
}

/** Identity of a session. */
type SessionIdentity = Pick<ChargeRequest, 'origin' | 'sessionId'>

export class SessionLocationCache {
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
    const name = nameOf(session)
    const cached = this.#known.get(name)
    if (cached === undefined) return undefined
    if (nowMs - cached.freshMs > this.#ttlMs / 2) {
      cached.freshMs = nowMs
      // If Redis is unavailable, the entry has half its TTL left, and the next worker that uses it
      // renews it.
      this.#ledger.renewLocations([cached.sessionKey]).catch(() => this.#known.delete(name))
    }
    return cached
  }

  remember(
    session: SessionIdentity,
    sessionKey: string,
    { aid, sid }: SessionLocation,
    nowMs: number,
  ): void {
    this.#known.set(nameOf(session), { aid, sid, sessionKey, freshMs: nowMs })
  }

  forget(session: SessionIdentity): void {
    this.#known.delete(nameOf(session))
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

function nameOf({ origin, sessionId }: SessionIdentity): string {
  return `${origin}\u0000${sessionId}`
}
