/** Keeps one thread's stored configuration current. */
import type { Logger } from '../../runtime/log.ts'
import type { Catalog } from '../connection.ts'
import { createPoller, type Poller } from '../poller.ts'
import { readConfigDocuments, readConfigRevision, type StoredConfig } from './stored-config.ts'

export interface StoredConfigWatch extends Poller {
  /** Whether the configuration was read; it is unknown until then. */
  loaded(): boolean
}

export interface StoredConfigWatchOptions {
  catalog: Catalog
  pollMs: number
  log: Logger
}

const TEXTS = {
  failing: 'stored configuration cannot be read; the last one stays',
  recovered: 'stored configuration is read again',
}

/**
 * Calls `listener`, which must not throw, with the configuration after the first read and after
 * every change. A poll reads the revisions of the documents, and their values only if a revision is
 * new, so no change is missed even if its writer dies.
 */
export function watchStoredConfig(
  { catalog, pollMs, log }: StoredConfigWatchOptions,
  listener: (config: StoredConfig) => void,
): StoredConfigWatch {
  let lastRevision: string | null = null
  const poll = async () => {
    if (lastRevision !== null && (await readConfigRevision(catalog)) === lastRevision) return
    const { config, revision } = await readConfigDocuments(catalog)
    lastRevision = revision
    listener(config)
  }
  return { ...createPoller(pollMs, poll, TEXTS, log), loaded: () => lastRevision !== null }
}
