/**
 * Tells the thread of the sockets why open sessions should be re-authorized or ended: of top-ups
 * and operators' releases by hints, of the catalogue and of subscribers as the feed sees them.
 */
import type { CatalogFeed } from '../catalog/feed.ts'
import type { ChangedSubscriber, SubscriberChange } from '../catalog/subscriber-watch.ts'
import type { SessionNews } from '../domain/worker-task.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { followHints, type Hint } from '../store/hints.ts'
import type { RedisConnection } from '../store/redis.ts'

export interface SessionNewsOptions {
  /** Must not have begun: what it tells first is no change. */
  feed: Pick<CatalogFeed, 'onSubscriberChange' | 'onCatalogueChange'>
  redis: Pick<RedisConnection, 'nodes'>
  /** Whether a subscriber has a revision that holds at an instant. Rejects if MongoDB is away. */
  isThere: (sid: number, atMs: number) => Promise<boolean>
  /** How often each thread of each node looks at the catalogue. */
  pollMs: number
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
/** Whoever asks again at once might come to a thread that has not seen the change. */
const POLLS_WAITED = 2

export function watchSessionNews(options: SessionNewsOptions): SessionNewsWatch {
  const { feed, redis, pollMs, tell, log } = options
  const departures = new Departures(options)
  let timer: NodeJS.Timeout | undefined
  const catalogueChanged = () => {
    if (timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      tell({ kind: 'reauthorizeAll' })
    }, pollMs * POLLS_WAITED)
    timer.unref()
  }
  let isFirst = true
  const subscriberChanged = (change: SubscriberChange) => {
    if (change.scope === 'one') {
      departures.take(change)
      return
    }
    // The first time nothing has changed; later another database is there, or an older one.
    if (!isFirst) catalogueChanged()
    isFirst = false
  }
  feed.onCatalogueChange(catalogueChanged)
  const end = feed.onSubscriberChange(subscriberChanged)
  const following = followHints(redis, (hint) => tell(newsOf(hint)), log)
  return {
    isListening: () => following.isListening(),
    close() {
      end()
      clearTimeout(timer)
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
  private readonly options: SessionNewsOptions
  /** Accounts of those who wait, by subscriber. */
  private readonly waiting = new Map<number, number>()
  private isLooking = false

  constructor(options: SessionNewsOptions) {
    this.options = options
  }

  take({ aid, sid, fromMs, toMs }: ChangedSubscriber): void {
    const { clock, tell, lookUpsMax = LOOK_UPS_MAX } = this.options
    const nowMs = clock.nowMs()
    const holds = fromMs <= nowMs && nowMs < toMs
    const isFull = this.waiting.size >= lookUpsMax && !this.waiting.has(sid)
    if (sid === 0 || holds || isFull) {
      tell({ kind: 'reauthorize', aid, sid })
      return
    }
    this.waiting.set(sid, aid)
    if (!this.isLooking) void this.lookUp()
  }

  private async lookUp(): Promise<void> {
    this.isLooking = true
    for (const [sid, aid] of this.waiting) {
      this.waiting.delete(sid)
      const isThere = await this.isThere(sid)
      this.options.tell({ kind: isThere ? 'reauthorize' : 'abort', aid, sid })
    }
    this.isLooking = false
  }

  /** Nobody is cut off because MongoDB is away, or has a document that cannot be read. */
  private isThere(sid: number): Promise<boolean> {
    const { isThere, clock } = this.options
    return isThere(sid, clock.nowMs()).catch(() => true)
  }
}
