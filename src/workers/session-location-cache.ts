/** Where sessions are at home: a bounded memory in front of the ledger's directory. */
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { Ledger, SessionLocation } from '../ledger/ledger.ts'
import { StoreDownError } from '../store/redis.ts'
import { GenerationCache } from './generation-cache.ts'

interface CachedLocation extends SessionLocation {
  /** The name of the session in the ledger: working it out costs more than to remember it. */
  sessionKey: string
  /** When the directory entry was last known to be written, by the node's clock. */
  freshMs: number
}

/** Whose session is asked for. */
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

  /** The home in memory. A session that lives long has its directory entry renewed on the way. */
  peek(session: SessionIdentity, nowMs: number): CachedLocation | undefined {
    const name = nameOf(session)
    const known = this.#known.get(name)
    if (known === undefined) return undefined
    if (nowMs - known.freshMs > this.#ttlMs / 2) {
      known.freshMs = nowMs
      // Upon an outage the entry has half its time left, and the next worker that asks renews it.
      this.#ledger.renewLocations([known.sessionKey]).catch(() => this.#known.delete(name))
    }
    return known
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

  /** Asks the directory; null where it knows none. As `Ledger.findHomes`. */
  async find(
    sessions: readonly { request: SessionIdentity; sessionKey: string }[],
  ): Promise<(SessionLocation | null | StoreDownError)[]> {
    const homes = await this.#ledger.findLocations(sessions.map(({ sessionKey }) => sessionKey))
    for (const [index, { request, sessionKey }] of sessions.entries()) {
      const home = homes[index]
      // Its age is not known: taken as old, it is renewed when it is used next.
      if (home === undefined || home === null || home instanceof StoreDownError) continue
      this.remember(request, sessionKey, home, 0)
    }
    return homes
  }
}

function nameOf({ origin, sessionId }: SessionIdentity): string {
  return `${origin}\u0000${sessionId}`
}
