/** Where sessions are at home: a bounded memory in front of the ledger's directory. */
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { Home, Ledger } from '../ledger/ledger.ts'
import { StoreDownError } from '../store/redis.ts'
import { GenerationCache } from './generations.ts'

interface KnownHome extends Home {
  /** The name of the session in the ledger: working it out costs more than to remember it. */
  sessionKey: string
  /** When the directory entry was last known to be written, by the node's clock. */
  freshMs: number
}

/** Whose session is asked for. */
type SessionOf = Pick<ChargeRequest, 'origin' | 'sessionId'>

export class Homes {
  readonly #known: GenerationCache<string, KnownHome>
  readonly #ledger: Ledger
  readonly #ttlMs: number

  constructor(ledger: Ledger, ttlMs: number, entriesMax: number) {
    this.#ledger = ledger
    this.#ttlMs = ttlMs
    this.#known = new GenerationCache(entriesMax)
  }

  /** The home in memory. A session that lives long has its directory entry renewed on the way. */
  peek(session: SessionOf, nowMs: number): KnownHome | undefined {
    const name = nameOf(session)
    const known = this.#known.get(name)
    if (known === undefined) return undefined
    if (nowMs - known.freshMs > this.#ttlMs / 2) {
      known.freshMs = nowMs
      // Upon an outage the entry has half its time left, and the next worker that asks renews it.
      this.#ledger.keepHomes([known.sessionKey]).catch(() => this.#known.delete(name))
    }
    return known
  }

  remember(session: SessionOf, sessionKey: string, { aid, sid }: Home, nowMs: number): void {
    this.#known.set(nameOf(session), { aid, sid, sessionKey, freshMs: nowMs })
  }

  forget(session: SessionOf): void {
    this.#known.delete(nameOf(session))
  }

  /** Asks the directory; null where it knows none. As `Ledger.findHomes`. */
  async find(
    sessions: readonly { request: SessionOf; sessionKey: string }[],
  ): Promise<(Home | null | StoreDownError)[]> {
    const homes = await this.#ledger.findHomes(sessions.map(({ sessionKey }) => sessionKey))
    for (const [index, { request, sessionKey }] of sessions.entries()) {
      const home = homes[index]
      // Its age is not known: taken as old, it is renewed when it is used next.
      if (home === undefined || home === null || home instanceof StoreDownError) continue
      this.remember(request, sessionKey, home, 0)
    }
    return homes
  }
}

function nameOf({ origin, sessionId }: SessionOf): string {
  return `${origin}\u0000${sessionId}`
}
