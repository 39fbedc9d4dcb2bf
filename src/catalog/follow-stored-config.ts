/** The stored configuration for the event-loop thread that owns the sockets. */
import type { Config } from '../config/schema.ts'
import type { Logger } from '../runtime/log.ts'
import { type CurrentClients, watchClients } from './clients/clients-watch.ts'
import { openCatalog } from './connection.ts'
import { sealerOf } from './sealing/secret-keys.ts'
import { compilePeers, type Peers } from './settings/peers/peers.ts'
import { watchStoredConfig } from './settings/stored-config-watch.ts'

/** Settings that operators change at run time. */
export interface CurrentStoredConfig {
  /** A list of unchecked documents. */
  readonly fileTypes: unknown
  readonly peers: Peers
}

/**
 * Reads the configuration and keeps polling it, on its own connection. Resolves even if MongoDB is
 * unavailable. The listeners, which must not throw, are called after the first read and after every
 * change.
 */
export async function followStoredConfig(
  config: Config,
  log: Logger,
  onStored: (stored: CurrentStoredConfig) => void,
  onClients: (clients: CurrentClients) => void,
): Promise<{ close(): Promise<void> }> {
  const { mongo } = config
  const { pollMs } = config.catalog
  const catalog = await openCatalog({
    ...mongo,
    appName: 'tollgate-realtime',
    connectionsMax: 1,
  })
  const watch = watchStoredConfig({ catalog, pollMs, log }, (stored) => {
    const peers = compilePeers(stored.peers)
    for (const skipped of peers.skipped) log.error(skipped, 'a peer is invalid')
    onStored({ fileTypes: stored.file_types, peers })
  })
  const sealer = sealerOf(config)
  const clients = watchClients({ catalog, sealer, pollMs, log }, onClients)
  await Promise.all([watch.start(), clients.start()])
  return {
    async close() {
      await Promise.all([watch.stop(), clients.stop()])
      await catalog.close()
    },
  }
}
