/** Handles an embedded Redis that is left running because it has data that is not on disk. */
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import type { EmbeddedRedis, RedisOptions, UnwrittenData } from '../embedded/redis.ts'
import { CommandError } from './errors.ts'
import { readUnwritten, unwrittenText } from './unwritten.ts'

/** Context in which `start` and `stop` run Redis in a data folder. */
export interface RedisContext {
  readonly config: Config
  /** Absolute path. */
  readonly dataDir: string
  readonly runDir: string
  readonly log: RedisOptions['log']
  readonly stopTimeoutMs: number
}

/** Redis was not stopped. The message says which data it has and what to do. */
export class RedisLeftError extends CommandError {
  override name = 'RedisLeftError'
}

export function redisOptions(context: RedisContext): RedisOptions {
  const { config, dataDir, runDir, log, stopTimeoutMs } = context
  return {
    dataDir: join(dataDir, 'redis-data'),
    runDir,
    appendfsync: config.redis.appendfsync,
    log,
    writeTimeoutMs: config.shutdown.writeTimeoutMs,
    closeTimeoutMs: stopTimeoutMs,
  }
}

/** Message while a stop waits for the disk. */
export function waitingText({ reason, bytes }: UnwrittenData, limitMs: number): string {
  const detail = bytes === null ? '' : ` (${bytes} bytes are in its memory only)`
  return (
    `tollgate: ${reason}${detail}: make room on the disk. The stop waits for it, at most ` +
    `${Math.round(limitMs / 1000)} s, and then leaves redis-server running; a second signal ` +
    'ends the wait now'
  )
}

/** Describes the unwritten data, if it can be read, and how to proceed. */
export async function redisLeftError(
  { config, dataDir }: Pick<RedisContext, 'config' | 'dataDir'>,
  { pid, url }: EmbeddedRedis,
  unwritten: UnwrittenData,
): Promise<RedisLeftError> {
  const commits = await readUnwritten(config, url, join(dataDir, 'redis-data'))
  return new RedisLeftError(
    [
      `redis-server (process ${pid}) is left running: ${unwritten.reason}.`,
      unwrittenText(commits, unwritten.bytes),
      "Make room, then 'tollgate start' continues with it, or 'tollgate stop' ends it.",
      "'tollgate stop --force' ends it as it is: then these charges are lost.",
    ].join('\n'),
  )
}
