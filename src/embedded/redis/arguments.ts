import type { RedisProgram } from './find.ts'

/** When the append-only file is forced to disk. */
export type AppendFsync = 'everysec' | 'always'

export type RedisServerSettings = {
  /** Folder of the append-only files and of redis.log. */
  readonly dataDir: string
  readonly socketPath: string
  readonly appendfsync: AppendFsync
  /** By default Redis uses the memory of the machine. */
  readonly maxmemoryBytes?: number
}

/** Name of the log file in the data folder. */
export const LOG_FILE = 'redis.log'

/**
 * Limits of a packed hash, in fields and in bytes of one field: the hashes of the ledger stay
 * packed.
 */
const PACKED_ENTRIES_MAX = 128
const PACKED_VALUE_BYTES_MAX = 1024

/**
 * A shorter file is not rewritten: each rewrite forks, and its child competes with charging for the
 * processor. A start loads this much in about a second.
 */
const REWRITTEN_FROM = '256mb'

/**
 * Command line of a redis-server that is accessible to this user only and never loses data by
 * design.
 */
export function redisArguments(program: RedisProgram, settings: RedisServerSettings): string[] {
  // Before version 7 the limits were named after the older packed format.
  const packed = program.version.startsWith('6.') ? 'ziplist' : 'listpack'
  const options: Record<string, string | number> = {
    port: 0,
    unixsocket: settings.socketPath,
    unixsocketperm: 700,
    daemonize: 'no',
    dir: settings.dataDir,
    logfile: LOG_FILE,
    loglevel: 'notice',
    // The append-only file is the durable state; snapshots would only cost forks.
    save: '',
    appendonly: 'yes',
    ...liveSettings(settings),
    'aof-use-rdb-preamble': 'yes',
    'auto-aof-rewrite-min-size': REWRITTEN_FROM,
    'maxmemory-policy': 'noeviction',
    [`hash-max-${packed}-entries`]: PACKED_ENTRIES_MAX,
    [`hash-max-${packed}-value`]: PACKED_VALUE_BYTES_MAX,
  }
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
}

/** Settings that may change between starts and can be set on a running Redis. */
export function liveSettings({
  appendfsync,
  maxmemoryBytes = 0,
}: Pick<RedisServerSettings, 'appendfsync' | 'maxmemoryBytes'>): Record<string, string | number> {
  return { appendfsync, maxmemory: maxmemoryBytes }
}
