/**
 * Connections to Redis: one per thread, failing fast while Redis is away and healing by themselves.
 */
import { Redis, type RedisOptions } from 'ioredis'
import type { Logger } from '../runtime/log.ts'

/** Redis cannot be reached, did not answer in time, or refused a command for want of a resource. */
export class StoreDownError extends Error {
  override name = 'StoreDownError'
}

/** Redis is configured in a way that would lose units, such as with evictions. */
export class StorePolicyError extends Error {
  override name = 'StorePolicyError'
}

export interface RedisSettings {
  /** `redis://`, `rediss://` or `unix:///path`. */
  url: string
  commandTimeoutMs: number
  connectTimeoutMs: number
}

type ScriptRunner = (keyCount: number, ...args: (string | number | Buffer)[]) => Promise<unknown>

export interface RedisConnection {
  /** For plain commands. Their errors pass through `guard`. */
  client: Redis
  /**
   * Runs a script by its digest. Bulk replies are Buffers. Throws `StoreDownError` if Redis is
   * away; whether a script that timed out took effect is then unknown.
   */
  runScript(
    name: string,
    text: string,
    keys: string[],
    args: (string | number | Buffer)[],
  ): Promise<unknown>
  /** Waits for a command and turns what is an outage into `StoreDownError`. */
  guard<T>(command: Promise<T>): Promise<T>
  isReady(): boolean
  close(): Promise<void>
}

/** Without the one option whose optional type the driver's own constructor refuses. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>

const RETRY_MS_MAX = 500

/** Opens a connection without waiting for it: commands fail at once until Redis is there. */
export function openRedis(settings: RedisSettings, log: Logger): RedisConnection {
  const client = new Redis(connectionOptions(settings))
  let away = false
  client.on('error', (error: Error) => {
    if (!away) log.warn({ err: error.message }, 'redis is away')
    away = true
  })
  client.on('ready', () => {
    if (away) log.info('redis is back')
    away = false
  })
  const guard = <T>(command: Promise<T>) => command.catch((error) => Promise.reject(named(error)))
  return {
    client,
    guard,
    runScript(name, text, keys, args) {
      const commands = client as unknown as Record<string, ScriptRunner | undefined>
      if (commands[`${name}Buffer`] === undefined) client.defineCommand(name, { lua: text })
      return guard(commands[`${name}Buffer`]!.call(client, keys.length, ...keys, ...args))
    },
    isReady: () => client.status === 'ready',
    async close() {
      client.disconnect()
    },
  }
}

function connectionOptions(settings: RedisSettings): ConnectionOptions {
  const { connectTimeoutMs, commandTimeoutMs } = settings
  const options: ConnectionOptions = {
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    retryStrategy: (attempt) => Math.min(20 * 2 ** attempt, RETRY_MS_MAX),
  }
  const url = new URL(settings.url)
  if (url.protocol === 'unix:') return { ...options, path: decodeURIComponent(url.pathname) }
  const database = url.pathname.length > 1 ? { db: Number(url.pathname.slice(1)) } : {}
  return {
    ...options,
    ...database,
    host: url.hostname,
    port: Number(url.port || 6379),
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  }
}

/** Replies that a healthy Redis gives only to our own mistakes stay what they are. */
function named(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const refused = /^(LOADING|READONLY|OOM|MISCONF|BUSY|MASTERDOWN|NOREPLICAS|CLUSTERDOWN)\b/
  if (error.name === 'ReplyError' && !refused.test(error.message)) return error
  return new StoreDownError(error.message, { cause: error })
}

/** Resolves when Redis answers; rejects with `StoreDownError` after `timeoutMs`. */
export async function waitForRedis(redis: RedisConnection, timeoutMs: number): Promise<void> {
  if (redis.isReady()) return
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      redis.client.off('ready', done)
      reject(new StoreDownError(`redis did not answer within ${timeoutMs} ms`))
    }, timeoutMs)
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    redis.client.once('ready', done)
  })
}

/** Longest packed value that must stay in a compact hash, bytes. */
export const LISTPACK_VALUE_BYTES_MIN = 512

/**
 * Checks what the ledger relies on (design.md §3). Throws `StorePolicyError` where units could be
 * lost; warns where only memory is.
 */
export async function checkRedisPolicy(redis: RedisConnection, log: Logger): Promise<void> {
  const setting = async (name: string) => {
    const [, value] = (await redis.guard(redis.client.config('GET', name))) as string[]
    return value ?? ''
  }
  const policy = await setting('maxmemory-policy')
  if (policy !== 'noeviction') {
    throw new StorePolicyError(`redis: maxmemory-policy is ${policy}, it must be noeviction`)
  }
  if ((await setting('appendonly')) !== 'yes') {
    log.warn('redis: appendonly is off, a restart of redis loses balances')
  }
  const listpack = Number(await setting('hash-max-listpack-value'))
  if (listpack < LISTPACK_VALUE_BYTES_MIN) {
    const advice = `raise it to ${LISTPACK_VALUE_BYTES_MIN} to halve the memory of owners`
    log.warn(`redis: hash-max-listpack-value is ${listpack}, ${advice}`)
  }
}
