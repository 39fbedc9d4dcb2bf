/** Reads the catalogue once, for commands; processes that charge follow it (feed.ts). */
import type { Catalogue } from '../../domain/catalogue.ts'
import { createLogger } from '../../runtime/log.ts'
import type { Catalog } from '../connection.ts'
import { CatalogUnavailableError } from '../errors.ts'
import { createCatalogFeed } from './feed.ts'

const NEVER_POLLED_MS = 60_000

/** Entities that do not compile are left out. Rejects with `CatalogUnavailableError`. */
export async function readCatalogue(catalog: Catalog): Promise<Catalogue> {
  const log = createLogger({ name: 'cli', level: 'silent' })
  const feed = createCatalogFeed({ catalog, pollMs: NEVER_POLLED_MS, log })
  try {
    if (await feed.start()) return feed.current()
    throw new CatalogUnavailableError('the catalogue cannot be read: MongoDB is unavailable')
  } finally {
    await feed.stop()
  }
}
