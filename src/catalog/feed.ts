/**
 * Keeps the compiled catalogue of one thread current. A poll of the revision numbers is what is
 * guaranteed; a hint from elsewhere may ask for one at once. No change streams.
 */
import type { Catalogue } from '../domain/catalogue.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { type ChangedRate, createCatalogueState } from './catalogue-state.ts'
import { ENTITIES, type EntityCollection } from './collections.ts'
import type { Catalog } from './connection.ts'
import { counterId } from './revisions.ts'
import type { SkippedDocument } from './snapshot.ts'
import { createSubscriberWatch, type SubscriberChange } from './subscriber-watch.ts'

export interface CatalogFeed {
  /**
   * Polls at once, then every `pollMs`. True if the catalogue is loaded; false: MongoDB is away.
   */
  start(): Promise<boolean>
  /** No poll is under way when it resolves. */
  stop(): Promise<void>
  /** A poll that begins after this call. False if MongoDB is away. Never rejects. */
  pollNow(): Promise<boolean>
  /** Whether the catalogue was ever read. Until then an empty `current` is an outage, no denial. */
  loaded(): boolean
  current(): Catalogue
  /** Documents that do not compile and are left out. */
  skipped(): readonly SkippedDocument[]
  /** Tells of profiles that caches must drop. Returns how to end it. */
  onSubscriberChange(listener: (change: SubscriberChange) => void): () => void
}

export interface FeedOptions {
  catalog: Catalog
  pollMs: number
  log: Logger
  clock: Clock
  /** Fields beside sid, msisdn and imsi that subscribers are found by. */
  identifiers?: () => readonly string[]
  /**
   * Told of the rates that a new snapshot changes, a slice at a time, before it is the current one.
   */
  onRates?: (changed: readonly ChangedRate[]) => void
}

const COLLECTIONS = Object.keys(ENTITIES) as readonly EntityCollection[]

export function createCatalogFeed(options: FeedOptions): CatalogFeed {
  const { catalog, pollMs, log, clock, identifiers = () => [] } = options
  const listeners = new Set<(change: SubscriberChange) => void>()
  const state = createCatalogueState(options)
  const subscribers = createSubscriberWatch({
    catalog,
    clock,
    identifiers,
    tell: (change) => {
      for (const listener of listeners) listener(change)
    },
  })
  const poller = createPoller(
    pollMs,
    async () => {
      const numbers = await readNumbers(catalog)
      await state.follow(numbers)
      await subscribers.follow(numbers.subscribers)
    },
    log,
  )
  return {
    ...poller,
    loaded: state.loaded,
    current: state.current,
    skipped: state.skipped,
    onSubscriberChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The revision number of every collection; 0 where nothing was ever written. */
async function readNumbers(catalog: Catalog): Promise<Record<EntityCollection, number>> {
  const counters = await catalog.run('read revision numbers', () =>
    catalog.counters.find({ _id: { $in: COLLECTIONS.map(counterId) } }).toArray(),
  )
  const numberOf = (collection: EntityCollection) =>
    counters.find(({ _id }) => _id === counterId(collection))?.seq ?? 0
  return Object.fromEntries(
    COLLECTIONS.map((collection) => [collection, numberOf(collection)]),
  ) as Record<EntityCollection, number>
}

type Poller = Pick<CatalogFeed, 'start' | 'stop' | 'pollNow'>

/** Does `poll` now and then, one at a time; an outage is logged when it begins and when it ends. */
function createPoller(pollMs: number, poll: () => Promise<void>, log: Logger): Poller {
  let timer: NodeJS.Timeout | undefined
  let isStopped = true
  let isFailing = false
  let running: Promise<boolean> | null = null
  let next: Promise<boolean> | null = null

  const once = async (): Promise<boolean> => {
    try {
      await poll()
      if (isFailing) log.info('catalogue feed has recovered')
      isFailing = false
    } catch (err) {
      if (!isFailing) log.warn({ err }, 'catalogue feed cannot read; the last catalogue stays')
      isFailing = true
    }
    return !isFailing
  }

  const begin = (): Promise<boolean> => {
    const current = once().finally(() => {
      if (running === current) running = null
    })
    running = current
    return current
  }

  const pollNow = (): Promise<boolean> => {
    if (running === null) return begin()
    // What is running may have read before the change that the caller knows of.
    next ??= running.then(() => {
      next = null
      return begin()
    })
    return next
  }

  const schedule = (): void => {
    if (isStopped) return
    timer = setTimeout(() => pollNow().then(schedule), pollMs)
    timer.unref()
  }

  return {
    async start() {
      isStopped = false
      const isLoaded = await pollNow()
      schedule()
      return isLoaded
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      while (running !== null || next !== null) await (next ?? running)
    },
    pollNow,
  }
}
