/** The catalogue of quotes, read when one is asked for and brought up to date for each. */
import type { Catalog } from '../../catalog/connection.ts'
import { CatalogUnavailableError } from '../../catalog/errors.ts'
import { type CatalogFeed, createCatalogFeed } from '../../catalog/feed/feed.ts'
import type { Catalogue } from '../../domain/catalogue.ts'
import { RateFinder } from '../../rating/match/finder.ts'
import type { Logger } from '../../runtime/log.ts'
import type { QuoteSettings } from './settings.ts'

export interface LiveRates {
  readonly catalogue: Catalogue
  /** Matches rates of this catalogue. */
  readonly finder: RateFinder
}

export interface LiveCatalogue {
  readonly settings: QuoteSettings
  /**
   * Reads what has changed; the first call, everything. Entities that do not compile are left out.
   * Rejects with `CatalogUnavailableError`.
   */
  current(): Promise<LiveRates>
  stop(): Promise<void>
}

/** A large catalogue takes memory that nothing uses between quotes. */
const KEPT_MS = 300_000

export function createLiveCatalogue(options: {
  catalog: Catalog
  log: Logger
  settings: QuoteSettings
}): LiveCatalogue {
  const { catalog, log, settings } = options
  let kept: { feed: CatalogFeed; finder: RateFinder } | null = null
  let timer: NodeJS.Timeout | undefined
  const open = () => {
    const finder = new RateFinder(settings.calculators, settings.rateKeys)
    const onRates: typeof finder.update = (changed) => finder.update(changed)
    // It is never started: each quote asks for a poll.
    const feed = createCatalogFeed({ catalog, log, pollMs: KEPT_MS, onRates })
    return { feed, finder }
  }
  return {
    settings,
    async current() {
      kept ??= open()
      const { feed, finder } = kept
      clearTimeout(timer)
      timer = setTimeout(() => {
        kept = null
      }, KEPT_MS).unref()
      if (await feed.pollNow()) return { catalogue: feed.current(), finder }
      throw new CatalogUnavailableError('the catalogue cannot be read: MongoDB is unavailable')
    },
    async stop() {
      clearTimeout(timer)
      await kept?.feed.stop()
      kept = null
    },
  }
}
