/**
 * Emits events on which the main thread re-authorizes or terminates open sessions: top-ups, actions
 * of event rules and releases by operators are published in Redis, changes of the catalogue and of
 * subscribers come from the feed.
 */
import type { CatalogFeed } from '../catalog/feed/feed.ts'
import type { SubscriberChange } from '../catalog/feed/subscriber-watch.ts'
import type { SessionEvent } from '../domain/worker-task.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { RedisConnection } from '../store/redis.ts'
import { type PublishedSessionEvent, subscribeToSessionEvents } from '../store/session-events.ts'
import { ChangeDebouncer, type ChangedOwner } from './change-debouncer.ts'

export interface SessionEventsOptions {
  /** Must not have started: its first notification is not a change. */
  feed: Pick<CatalogFeed, 'onSubscriberChange' | 'onCatalogueChange' | 'onPolled'>
  redis: Pick<RedisConnection, 'nodes'>
  /**
   * Whether a subscriber has a revision in force at an instant. Rejects if MongoDB is unavailable.
   */
  subscriberExists: (sid: number, atMs: number) => Promise<boolean>
  clock: Clock
  emit: (event: SessionEvent) => void
  log: Pick<Logger, 'warn' | 'error'>
  /** Maximum number of subscribers waiting for a lookup. */
  lookUpsMax?: number
}

export interface SessionEventsWatch {
  /** Whether events from Redis are received. */
  isListening(): boolean
  close(): void
}

const LOOK_UPS_MAX = 10_000

export function watchSessionEvents(options: SessionEventsOptions): SessionEventsWatch {
  const { feed, redis, emit, log } = options
  const closedCheck = new ClosedSubscriberCheck(options)
  const changes = new ChangeDebouncer()
  let isFirst = true
  const subscriberChanged = (change: SubscriberChange) => {
    if (change.scope === 'one') changes.addOwner(change, options.clock.nowMs())
    // The first notification is not a change. A later one means another or an older database.
    else if (!isFirst) changes.addCatalogue()
    isFirst = false
  }
  feed.onCatalogueChange(() => changes.addCatalogue())
  const end = feed.onSubscriberChange(subscriberChanged)
  feed.onPolled(() => {
    const { isCatalogue, owners } = changes.takeComplete()
    if (isCatalogue) emit({ kind: 'reauthorizeAll' })
    for (const owner of owners) {
      if (!isCatalogue || !owner.isInForce) closedCheck.check(owner)
    }
  })
  const onPublished = (published: PublishedSessionEvent) => {
    // The pending change of the same owner will be emitted; one request serves both.
    if (published.cause !== 'credit' || !changes.isPending(published.aid, published.sid))
      emit(sessionEventOf(published))
  }
  const following = subscribeToSessionEvents(redis, onPublished, log)
  return {
    isListening: () => following.isListening(),
    close() {
      end()
      changes.clear()
      following.close()
    },
  }
}

function sessionEventOf(published: PublishedSessionEvent): SessionEvent {
  if (published.cause === 'credit') {
    const { cause, ...owner } = published
    return { kind: 'reauthorize', ...owner }
  }
  return { kind: 'release', origin: published.origin, sessionId: published.sessionId }
}

/**
 * Determines whether a changed subscriber still exists: it does if a written document is in force.
 * All others are looked up in MongoDB, one after the other.
 */
class ClosedSubscriberCheck {
  readonly #options: SessionEventsOptions
  /** Accounts of the waiting subscribers. */
  readonly #waiting = new Map<number, number>()
  #isLooking = false

  constructor(options: SessionEventsOptions) {
    this.#options = options
  }

  check({ aid, sid, isInForce }: ChangedOwner): void {
    const { emit, lookUpsMax = LOOK_UPS_MAX } = this.#options
    const isFull = this.#waiting.size >= lookUpsMax && !this.#waiting.has(sid)
    if (sid === 0 || isInForce || isFull) {
      emit({ kind: 'reauthorize', aid, sid })
      return
    }
    this.#waiting.set(sid, aid)
    if (!this.#isLooking) void this.#lookUp()
  }

  async #lookUp(): Promise<void> {
    this.#isLooking = true
    for (const [sid, aid] of this.#waiting) {
      this.#waiting.delete(sid)
      const exists = await this.#exists(sid)
      this.#options.emit({ kind: exists ? 'reauthorize' : 'abort', aid, sid })
    }
    this.#isLooking = false
  }

  /** No session is terminated because MongoDB is unavailable or a document is invalid. */
  #exists(sid: number): Promise<boolean> {
    const { subscriberExists: exists, clock } = this.#options
    return exists(sid, clock.nowMs()).catch(() => true)
  }
}
