/** What operators change while the node runs, as the socket thread uses it. */
import { openCatalog } from '../catalog/connection.ts'
import type { FileTypeDefaults } from '../catalog/file-types/file-type.ts'
import { compilePeers, type Peers } from '../catalog/peers.ts'
import type { StoredConfig } from '../catalog/stored-config.ts'
import { watchStoredConfig } from '../catalog/stored-config-watch.ts'
import type { Config } from '../config/schema.ts'
import type { Logger } from '../runtime/log.ts'
import type { Codec } from './codecs/codec.ts'
import { createDialects, type Dialects } from './dialects.ts'

export interface StoredSettingsOptions {
  readonly config: Config
  readonly log: Logger
  readonly defaults: FileTypeDefaults
  /** The plain JSON dialect. */
  readonly plain: Codec<unknown>
}

export interface StoredSettings {
  readonly dialects: Dialects
  /** Those of now; null as long as they were never read. */
  peers(): Peers | null
  close(): Promise<void>
}

/**
 * Reads them, and goes on reading. Without MongoDB it resolves all the same: the plain dialect is
 * always spoken, everything else once it has been read, and what was read stays.
 */
export async function watchStoredSettings(options: StoredSettingsOptions): Promise<StoredSettings> {
  const { config, log, defaults, plain } = options
  const dialects = createDialects({
    defaultName: config.realtime.defaultFileType,
    ...{ plain, defaults },
  })
  let peers: Peers | null = null
  const take = (stored: StoredConfig) => {
    for (const { name, why } of dialects.take(stored.file_types)) {
      log.error({ fileType: name, why }, 'a file type cannot be used')
    }
    peers = compilePeers(stored.peers)
    for (const skipped of peers.skipped) log.error(skipped, 'a peer cannot be used')
  }
  const { url, database, timeoutMs } = config.mongo
  const catalog = await openCatalog({ url, database, timeoutMs, appName: 'tollgate-realtime' })
  const watch = watchStoredConfig({ catalog, pollMs: config.catalog.pollMs, log }, take)
  await watch.start()
  return {
    dialects,
    peers: () => peers,
    async close() {
      await watch.stop()
      await catalog.close()
    },
  }
}
