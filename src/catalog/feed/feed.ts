/**
 * Keeps the compiled catalogue of one thread current by polling the revision numbers; an immediate
 * poll can be requested (`pollNow`). Change streams are not used.
 */
import type { Catalogue } from '../../domain/catalogue.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Catalog } from '../connection.ts'
import { CHARGING_COLLECTIONS, type ChargingCollection } from '../entities/entity-table.ts'
import { createPoller, type Poller } from '../poller.ts'
import { type ChangedRate, createCatalogueState } from './catalogue-state.ts'
import type { SkippedDocument } from './snapshot.ts'
import { createSubscriberWatch, type SubscriberChange } from './subscriber-watch.ts'

export interface CatalogFeed extends Poller {
  /**
   * Whether the catalogue was read. Until then, an empty `current` means an outage and must not
   * lead to a denial.
   */
  loaded(): boolean
  current(): Catalogue
  /** Documents that do not compile and are left out. */
  skipped(): readonly SkippedDocument[]
  /**
   * Calls the listener with profiles that caches must drop. Returns a function that removes the
   * listener.
   */
  onSubscriberChange(listener: (change: SubscriberChange) => void): () => void
  /** Calls the listener when `current` is replaced, except for the first time. */
  onCatalogueChange(listener: () => void): void
  /** Called at the end of each poll, after all other listeners; also if the poll failed. */
  onPolled(listener: () => void): void
}

export interface FeedOptions {
  catalog: Catalog
  pollMs: number
  log: Logger
  /** Identifying fields of subscribers in addition to sid, msisdn and imsi. */
  identifiers?: () => readonly string[]
  /**
   * Called with the rates that a new snapshot changes, in slices, before the snapshot becomes
   * current.
   */
  onRates?: (changed: readonly ChangedRate[]) => void
}

const FAILING = 'catalogue feed cannot read; the last catalogue stays'

export function createCatalogFeed(options: FeedOptions): CatalogFeed {
  const { catalog, pollMs, log, identifiers = () => [] } = options
  const listeners = new Set<(change: SubscriberChange) => void>()
  const catalogueListeners: (() => void)[] = []
  const pollListeners: (() => void)[] = []
  const state = createCatalogueState(options)
  const subscribers = createSubscriberWatch({
    catalog,
    identifiers,
    notify: (change) => {
      for (const listener of listeners) listener(change)
    },
  })
  const follow = async (): Promise<void> => {
    const numbers = await readRevisionNumbers(catalog)
    const { revision } = state.current()
    await state.follow(numbers)
    if (revision > 0 && state.current().revision !== revision) {
      for (const listener of catalogueListeners) listener()
    }
    await subscribers.follow(numbers.subscribers)
  }
  const poller = createPoller(
    pollMs,
    () =>
      follow().finally(() => {
        for (const listener of pollListeners) listener()
      }),
    { recovered: 'catalogue feed has recovered', failing: FAILING },
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
    onCatalogueChange(listener) {
      catalogueListeners.push(listener)
    },
    onPolled(listener) {
      pollListeners.push(listener)
    },
  }
}

/** The number of the newest write of every collection; 0 if nothing was ever written. */
async function readRevisionNumbers(catalog: Catalog): Promise<Record<ChargingCollection, number>> {
  const head = await catalog.transactions.findOne({ _id: 'head' }, { projection: { numbers: 1 } })
  const numbers = CHARGING_COLLECTIONS.map((name) => [name, head?.numbers[name] ?? 0])
  return Object.fromEntries(numbers) as Record<ChargingCollection, number>
}
