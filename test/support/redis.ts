import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AppendFsync } from '../../src/embedded/redis/arguments.ts'
import { type EmbeddedRedis, type RedisExit, startRedis } from '../../src/embedded/redis.ts'
import { runDirFor } from '../../src/embedded/run-dir.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../src/store/redis.ts'

export type TestRedisOptions = {
  /** 'always' by default: acknowledged writes of a test survive `kill9`. */
  readonly appendfsync?: AppendFsync
  readonly maxmemoryBytes?: number
}

export type TestRedis = {
  readonly url: string
  readonly socketPath: string
  /** Process id of the running Redis; changes with `restart`. */
  readonly pid: number
  /** Ends Redis and removes its folder. */
  close(): Promise<void>
  /** `kill -9`; resolves when Redis has ended. */
  kill9(): Promise<RedisExit>
  /** Starts Redis again on the same data and the same socket, after ending it if it runs. */
  restart(): Promise<void>
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** A real, private redis-server with its own data in a temporary folder. */
export async function startTestRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-redis-'))
  const start = () =>
    startRedis({
      appendfsync: 'always',
      ...options,
      dataDir: folder,
      runDir: runDirFor(folder),
      log: silent,
    })
  let redis: EmbeddedRedis = await start()
  return {
    url: redis.url,
    socketPath: redis.socketPath,
    get pid() {
      return redis.pid
    },
    async close() {
      await redis.close({ force: true })
      rmSync(folder, { recursive: true, force: true })
    },
    async kill9() {
      process.kill(redis.pid, 'SIGKILL')
      return redis.exited
    },
    async restart() {
      await redis.close()
      redis = await start()
    },
  }
}

const nowhere = createLogger({ name: 'test', level: 'silent' })

/** A connection that waits patiently for commands, as soon as Redis answers. */
export async function connectRedis(url: string, timeoutMs = 20_000): Promise<RedisConnection> {
  const timeouts = { commandTimeoutMs: timeoutMs, connectTimeoutMs: timeoutMs }
  const connection = openRedis({ url, ...timeouts }, nowhere)
  await waitForRedis(connection, 20_000)
  return connection
}
