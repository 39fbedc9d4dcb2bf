import type { RedisProgram } from './find.ts'

/** When the append-only file is forced to disk. */
export type AppendFsync = 'everysec' | 'always'

export type RedisServerSettings = {
  /** Folder of the append-only files and of redis.log. */
  readonly dataDir: string
  readonly socketPath: string
  readonly appendfsync: AppendFsync
  /** Without it Redis takes what the machine has. */
  readonly maxmemoryBytes?: number
}

/** Name of the log file in the data folder. */
export const LOG_FILE = 'redis.log'

/**
 * Longest packed hash, in fields and in bytes of one field: what the ledger stores stays packed.
 */
const PACKED_ENTRIES_MAX = 128
const PACKED_VALUE_BYTES_MAX = 1024

/** Command line of a redis-server that only this user reaches and that loses nothing by design. */
export function redisArguments(program: RedisProgram, settings: RedisServerSettings): string[] {
  // Before version 7 the same limits were named after the older packed format.
  const packed = program.version.startsWith('6.') ? 'ziplist' : 'listpack'
  const options: Record<string, string | number> = {
    port: 0,
    unixsocket: settings.socketPath,
    unixsocketperm: 700,
    daemonize: 'no',
    dir: settings.dataDir,
    logfile: LOG_FILE,
    loglevel: 'notice',
    // The append-only file is the durable state; snapshots beside it would only cost forks.
    save: '',
    appendonly: 'yes',
    ...liveSettings(settings),
    'aof-use-rdb-preamble': 'yes',
    'maxmemory-policy': 'noeviction',
    [`hash-max-${packed}-entries`]: PACKED_ENTRIES_MAX,
    [`hash-max-${packed}-value`]: PACKED_VALUE_BYTES_MAX,
  }
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
}

/** What may differ from one start to the next, and can be set on a Redis that runs. */
export function liveSettings({
  appendfsync,
  maxmemoryBytes = 0,
}: Pick<RedisServerSettings, 'appendfsync' | 'maxmemoryBytes'>): Record<string, string | number> {
  return { appendfsync, maxmemory: maxmemoryBytes }
}
