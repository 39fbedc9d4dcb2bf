/** Where sessions are at home: a bounded memory in front of the ledger's directory. */
import type { Home, Ledger } from '../ledger/ledger.ts'
import { StoreDownError } from '../store/redis.ts'
import { GenerationCache } from './generations.ts'

interface KnownHome extends Home {
  /** When the directory entry was last known to be written, by the node's clock. */
  freshMs: number
}

export class Homes {
  private readonly known: GenerationCache<string, KnownHome>
  private readonly ledger: Ledger
  private readonly ttlMs: number

  constructor(ledger: Ledger, ttlMs: number, entriesMax: number) {
    this.ledger = ledger
    this.ttlMs = ttlMs
    this.known = new GenerationCache(entriesMax)
  }

  /** The home in memory. A session that lives long has its directory entry renewed on the way. */
  peek(sessionKey: string, nowMs: number): Home | undefined {
    const known = this.known.get(sessionKey)
    if (known === undefined) return undefined
    if (nowMs - known.freshMs > this.ttlMs / 2) {
      known.freshMs = nowMs
      // Upon an outage the entry has half its time left, and the next worker that asks renews it.
      this.ledger.keepHomes([sessionKey]).catch(() => this.known.delete(sessionKey))
    }
    return known
  }

  remember(sessionKey: string, { aid, sid }: Home, nowMs: number): void {
    this.known.set(sessionKey, { aid, sid, freshMs: nowMs })
  }

  forget(sessionKey: string): void {
    this.known.delete(sessionKey)
  }

  /** Asks the directory; null where it knows none. As `Ledger.findHomes`. */
  async find(sessionKeys: readonly string[]): Promise<(Home | null | StoreDownError)[]> {
    const homes = await this.ledger.findHomes(sessionKeys)
    for (const [index, home] of homes.entries()) {
      // Its age is not known: taken as old, it is renewed when it is used next.
      if (home === null || home instanceof StoreDownError) continue
      this.known.set(sessionKeys[index] ?? '', { ...home, freshMs: 0 })
    }
    return homes
  }
}
