/**
 * Tells the thread of the sockets why open sessions should be re-authorized or ended: of top-ups
 * and operators' releases by hints, of the catalogue and of subscribers as the feed sees them.
 */
import type { CatalogFeed } from '../catalog/feed/feed.ts'
import type { SubscriberChange } from '../catalog/feed/subscriber-watch.ts'
import type { SessionNews } from '../domain/worker-task.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { followHints, type Hint } from '../store/hints.ts'
import type { RedisConnection } from '../store/redis.ts'
import { type ChangedOwner, SettlingChanges } from './settling-changes.ts'

export interface SessionNewsOptions {
  /** Must not have begun: what it tells first is no change. */
  feed: Pick<CatalogFeed, 'onSubscriberChange' | 'onCatalogueChange' | 'onPolled'>
  redis: Pick<RedisConnection, 'nodes'>
  /** Whether a subscriber has a revision that holds at an instant. Rejects if MongoDB is away. */
  isThere: (sid: number, atMs: number) => Promise<boolean>
  clock: Clock
  tell: (news: SessionNews) => void
  log: Pick<Logger, 'warn' | 'error'>
  /** Subscribers that may wait to be looked up. */
  lookUpsMax?: number
}

export interface SessionNewsWatch {
  /** Whether hints are heard. */
  isListening(): boolean
  close(): void
}

const LOOK_UPS_MAX = 10_000

export function watchSessionNews(options: SessionNewsOptions): SessionNewsWatch {
  const { feed, redis, tell, log } = options
  const departures = new Departures(options)
  const changes = new SettlingChanges()
  let isFirst = true
  const subscriberChanged = (change: SubscriberChange) => {
    if (change.scope === 'one') changes.addOwner(change, options.clock.nowMs())
    // The first time nothing has changed; later another database is there, or an older one.
    else if (!isFirst) changes.addCatalogue()
    isFirst = false
  }
  feed.onCatalogueChange(() => changes.addCatalogue())
  const end = feed.onSubscriberChange(subscriberChanged)
  feed.onPolled(() => {
    const { isCatalogue, owners } = changes.settled()
    if (isCatalogue) tell({ kind: 'reauthorizeAll' })
    for (const owner of owners) {
      if (!isCatalogue || !owner.holds) departures.take(owner)
    }
  })
  const onHint = (hint: Hint) => {
    // The change of the same owner will be told, and one request serves both.
    if (hint.cause !== 'credit' || !changes.isPending(hint.aid, hint.sid)) tell(newsOf(hint))
  }
  const following = followHints(redis, onHint, log)
  return {
    isListening: () => following.isListening(),
    close() {
      end()
      changes.clear()
      following.close()
    },
  }
}

function newsOf(hint: Hint): SessionNews {
  if (hint.cause === 'credit') return { kind: 'reauthorize', aid: hint.aid, sid: hint.sid }
  return { kind: 'release', origin: hint.origin, sessionId: hint.sessionId }
}

/** Whose document holds is there. Of all others MongoDB tells, one after the other. */
class Departures {
  readonly #options: SessionNewsOptions
  /** Accounts of those who wait, by subscriber. */
  readonly #waiting = new Map<number, number>()
  #isLooking = false

  constructor(options: SessionNewsOptions) {
    this.#options = options
  }

  take({ aid, sid, holds }: ChangedOwner): void {
    const { tell, lookUpsMax = LOOK_UPS_MAX } = this.#options
    const isFull = this.#waiting.size >= lookUpsMax && !this.#waiting.has(sid)
    if (sid === 0 || holds || isFull) {
      tell({ kind: 'reauthorize', aid, sid })
      return
    }
    this.#waiting.set(sid, aid)
    if (!this.#isLooking) void this.#lookUp()
  }

  async #lookUp(): Promise<void> {
    this.#isLooking = true
    for (const [sid, aid] of this.#waiting) {
      this.#waiting.delete(sid)
      const isThere = await this.#isThere(sid)
      this.#options.tell({ kind: isThere ? 'reauthorize' : 'abort', aid, sid })
    }
    this.#isLooking = false
  }

  /** Nobody is cut off because MongoDB is away, or has a document that cannot be read. */
  #isThere(sid: number): Promise<boolean> {
    const { isThere, clock } = this.#options
    return isThere(sid, clock.nowMs()).catch(() => true)
  }
}
