/** Keeps one thread's view of the stored configuration current. */
import type { Logger } from '../../runtime/log.ts'
import type { Catalog } from '../connection.ts'
import { createPoller, type Poller } from '../poller.ts'
import { readConfigDocuments, readConfigRevision, type StoredConfig } from './stored-config.ts'

export interface StoredConfigWatch extends Poller {
  /** Whether it was ever read. Until then nobody knows what is configured. */
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
 * Tells `listener` of the configuration when it is first read, and whenever another one is stored;
 * it must not throw. A poll reads the revisions of the two documents themselves, and the values
 * only if one of them is new: so no change can be missed, whoever died while writing it.
 */
export function watchStoredConfig(
  { catalog, pollMs, log }: StoredConfigWatchOptions,
  listener: (config: StoredConfig) => void,
): StoredConfigWatch {
  let known: string | null = null
  const poll = async () => {
    if (known !== null && (await readConfigRevision(catalog)) === known) return
    const { config, revision } = await readConfigDocuments(catalog)
    known = revision
    listener(config)
  }
  return { ...createPoller(pollMs, poll, TEXTS, log), loaded: () => known !== null }
}
