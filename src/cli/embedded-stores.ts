/** Starts the stores configured as 'embedded', in the data folder. */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openCatalog } from '../catalog/connection.ts'
import { nodeEnvironment, systemEnvironment } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import { findOrProvideRedis } from '../embedded/redis/find.ts'
import { startRedis } from '../embedded/redis.ts'
import { createPrivateFolder } from '../embedded/run-dir.ts'
import type { Logger } from '../runtime/log.ts'
import type { Terminal } from '../runtime/terminal.ts'
import { endedAtStart, startChild } from './child.ts'
import { CommandError } from './errors.ts'
import { redisLeftError, redisOptions, waitingText } from './redis-left.ts'
import { mongoSocketIn, mongoUrlOf } from './stores.ts'
import type { Running } from './supervisor.ts'

const run = promisify(execFile)

export interface StoreOptions {
  readonly config: Config
  /** Absolute path. */
  readonly dataDir: string
  readonly runDir: string
  readonly log: Logger
  readonly onLine: (line: string) => void
  readonly stopTimeoutMs: number
}

const START_TIMEOUT_MS = 60_000
const POLL_MS = 50

/**
 * Starts redis-server. Throws what `startRedis` throws. `stop` rejects with `RedisLeftError` if
 * Redis cannot persist commands that it has executed.
 */
export async function startRedisStore(terminal: Terminal, options: StoreOptions): Promise<Running> {
  const { config, dataDir, log } = options
  const redis = await startRedis({
    ...redisOptions(options),
    onWait: (unwritten) => {
      log.warn(
        { ...unwritten },
        'redis-server is not stopped before its append-only file is written',
      )
      terminal.printError(waitingText(unwritten, config.shutdown.writeTimeoutMs))
    },
    program: await findOrProvideRedis(dataDir, (line) => terminal.print(line)),
  })
  const { pid } = redis
  const reportLeft = () =>
    terminal.printError(`tollgate: redis-server (process ${pid}) is left running`)
  process.once('exit', reportLeft)
  const forget = () => process.removeListener('exit', reportLeft)
  void redis.exited.then(forget)
  return {
    pid,
    exited: redis.exited.then(({ code, signal }) => signal ?? `code ${code}`),
    async stop() {
      const unwritten = await redis.close()
      if (unwritten === null) return
      forget()
      throw await redisLeftError(options, redis, unwritten)
    },
  }
}

/**
 * Starts mongod if it is installed and the data does not belong to the embedded server; otherwise
 * starts the embedded server.
 */
export async function startMongoStore(options: StoreOptions): Promise<Running> {
  const own = join(options.dataDir, 'mongo')
  if (!existsSync(own) && (await hasMongod())) return startMongod(options)
  return startOwnMongo(options, own)
}

function startOwnMongo(options: StoreOptions, folder: string): Promise<Running> {
  const { runDir, onLine, stopTimeoutMs } = options
  return startChild({
    name: 'mongo',
    file: new URL('../embedded/mongo.js', import.meta.url),
    args: ['--data', folder, '--socket', mongoSocketIn(runDir)],
    env: nodeEnvironment(),
    onLine,
    startTimeoutMs: START_TIMEOUT_MS,
    stopTimeoutMs,
  })
}

async function hasMongod(): Promise<boolean> {
  return run('mongod', ['--version'], { env: systemEnvironment() }).then(
    () => true,
    () => false,
  )
}

/** Listens on a unix socket only. mongod does not signal readiness, so it is polled. */
async function startMongod(options: StoreOptions): Promise<Running> {
  const { dataDir, runDir, onLine, stopTimeoutMs } = options
  const folder = join(dataDir, 'mongod')
  const socketPath = mongoSocketIn(runDir)
  createPrivateFolder(folder)
  const args = ['--dbpath', folder, '--bind_ip', socketPath, '--quiet']
  const child = spawn('mongod', args, {
    env: systemEnvironment(),
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  createInterface({ input: child.stdout }).on('line', onLine)
  const stopWithParent = () => child.kill('SIGTERM')
  process.once('exit', stopWithParent)
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`))
    child.once('error', (error) => resolve(error.message))
  }).finally(() => process.removeListener('exit', stopWithParent))
  const stop = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
    await exited
    clearTimeout(timer)
  }
  const problem = await untilAnswering(mongoUrlOf(socketPath), exited)
  if (problem === undefined) return { pid: child.pid, exited, stop }
  await stop()
  throw problem
}

async function untilAnswering(
  url: string,
  exited: Promise<string>,
): Promise<CommandError | undefined> {
  const catalog = await openCatalog({
    url,
    database: 'admin',
    timeoutMs: 1_000,
    appName: 'tollgate-start',
  })
  let ended: string | undefined
  void exited.then((how) => {
    ended = how
  })
  try {
    for (let waitedMs = 0; waitedMs < START_TIMEOUT_MS; waitedMs += POLL_MS) {
      if (ended !== undefined) return endedAtStart('mongod', ended)
      const answers = await catalog.ping().then(
        () => true,
        () => false,
      )
      if (answers) return undefined
      await delay(POLL_MS)
    }
    return new CommandError('mongod does not answer')
  } finally {
    await catalog.close()
  }
}
