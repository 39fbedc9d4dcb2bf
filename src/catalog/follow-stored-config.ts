/** The stored configuration for the thread that has the sockets. */
import type { Config } from '../config/schema.ts'
import type { Logger } from '../runtime/log.ts'
import { openCatalog } from './connection.ts'
import { compilePeers, type Peers } from './peers.ts'
import { watchStoredConfig } from './stored-config-watch.ts'

/** What operators change while the node runs. */
export interface StoredNow {
  /** A list of documents, of which nothing is known yet. */
  readonly fileTypes: unknown
  readonly peers: Peers
}

/**
 * Reads it on a connection of its own, and goes on reading. Without MongoDB it resolves all the
 * same; `listener`, which must not throw, is told once it has been read, and of every change.
 */
export async function followStoredConfig(
  { mongo, catalog: { pollMs } }: Config,
  log: Logger,
  listener: (stored: StoredNow) => void,
): Promise<{ close(): Promise<void> }> {
  const catalog = await openCatalog({
    ...mongo,
    ...{ appName: 'tollgate-realtime', connectionsMax: 1 },
  })
  const watch = watchStoredConfig({ catalog, pollMs, log }, (stored) => {
    const peers = compilePeers(stored.peers)
    for (const skipped of peers.skipped) log.error(skipped, 'a peer cannot be used')
    listener({ fileTypes: stored.file_types, peers })
  })
  await watch.start()
  return {
    async close() {
      await watch.stop()
      await catalog.close()
    },
  }
}
