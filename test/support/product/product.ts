/**
 * The real product in a folder of its own: Redis, the embedded MongoDB and the roles as processes,
 * each of which can be killed and started again. For the benchmark and the system tests.
 * TEST_MONGO_URL replaces the embedded MongoDB.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type EmbeddedRedis, startRedis } from '../../../src/embedded/redis.ts'
import { runDirFor } from '../../../src/embedded/run-dir.ts'

export type Role = 'realtime' | 'admin' | 'recorder'

export interface ProductOptions {
  appendfsync?: 'always' | 'everysec'
  /** An existing Redis, or cluster, instead of its own. */
  redisUrl?: string
  /**
   * An existing MongoDB; with that of another product and its database they are nodes of one
   * installation.
   */
  mongoUrl?: string
  database?: string
  /** The roles to start; `recorder` alone runs outside the admin process. */
  roles?: readonly Role[]
  /** `realtime.queueMsMax`; high by default so that a busy machine refuses no requests of tests. */
  queueMsMax?: number
  /** More settings, as TOLLGATE_* variables. */
  environment?: Record<string, string>
}

export interface Product {
  folder: string
  realtimeUrl: string
  realtimePort: number
  diameterPort: number
  adminUrl: string
  redisUrl: string
  mongoUrl: string
  database: string
  /** The process id of a running part. */
  pid(part: Role | 'redis' | 'mongo'): number
  /** `kill -9`; resolves when the process has ended. */
  kill9(part: Role | 'redis' | 'mongo'): Promise<void>
  /** Starts a part that was killed; resolves when it is ready. */
  start(part: Role | 'redis' | 'mongo'): Promise<void>
  /** Ends a role as an operator would (SIGTERM); resolves with its exit code. */
  terminate(role: Role): Promise<number | null>
  /** Resolves when the role answers on its readiness address. */
  ready(role: 'realtime' | 'admin'): Promise<void>
  stop(): Promise<void>
}

/** The root of the project, whether this is compiled or not. */
export const ROOT = projectRoot()
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

function projectRoot(): string {
  const here = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
  return here.endsWith('dist') ? dirname(here) : here
}

/** A port that is currently free. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

export async function startProduct(options: ProductOptions = {}): Promise<Product> {
  const product = new RunningProduct(options)
  await product.begin()
  return product
}

const QUEUE_MS_MAX = 10_000
/** Long enough that a role waits for a Redis that starts on a busy machine. */
const CONNECT_TIMEOUT_MS = 10_000

class RunningProduct implements Product {
  readonly folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-'))
  readonly database: string
  realtimePort = 0
  diameterPort = 0
  realtimeUrl = ''
  adminUrl = ''
  redisUrl = ''
  mongoUrl = ''
  #adminPort = 0
  #redis: EmbeddedRedis | null = null
  readonly #children = new Map<Role | 'mongo', ChildProcess>()
  readonly #options: ProductOptions

  constructor(options: ProductOptions) {
    this.#options = options
    const own = `tollgate_${process.pid}_${Math.floor(performance.now())}`
    this.database = options.database ?? own
  }

  async begin(): Promise<void> {
    try {
      this.realtimePort = await freePort()
      this.#adminPort = await freePort()
      this.diameterPort = await freePort()
      this.realtimeUrl = `http://127.0.0.1:${this.realtimePort}`
      this.adminUrl = `http://127.0.0.1:${this.#adminPort}`
      await this.start('redis')
      await this.start('mongo')
      // Seeding runs after the stores and before the roles.
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  pid(part: Role | 'redis' | 'mongo'): number {
    const pid = part === 'redis' ? this.#redis?.pid : this.#children.get(part)?.pid
    if (pid === undefined) throw new Error(`${part} does not run`)
    return pid
  }

  async kill9(part: Role | 'redis' | 'mongo'): Promise<void> {
    process.kill(this.pid(part), 'SIGKILL')
    if (part === 'redis') {
      await this.#redis?.exited
      return
    }
    await ended(this.#children.get(part))
  }

  async start(part: Role | 'redis' | 'mongo'): Promise<void> {
    if (part === 'redis') return this.#startRedis()
    if (part === 'mongo') return this.#startMongo()
    const child = this.#spawnRole(part)
    this.#children.set(part, child)
    const [message] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => [{ type: 'failed', reason: 'it ended' }]),
    ])) as [{ type: string; reason?: string }]
    if (message.type !== 'ready') throw new Error(`${part} did not start: ${message.reason}`)
    if (part !== 'recorder') await this.ready(part)
  }

  async terminate(role: Role): Promise<number | null> {
    const child = this.#children.get(role)
    child?.kill('SIGTERM')
    await ended(child)
    return child?.exitCode ?? null
  }

  async ready(role: 'realtime' | 'admin'): Promise<void> {
    const url = role === 'realtime' ? this.realtimeUrl : this.adminUrl
    const child = this.#children.get(role)
    for (let attempt = 0; attempt < 600; attempt += 1) {
      if (child !== undefined && child.exitCode !== null) {
        throw new Error(`${role} ended with ${child.exitCode}: see ${this.folder}/${role}.log`)
      }
      const answer = await fetch(`${url}/health/ready`).catch(() => null)
      if (answer?.status === 200) return
      await pause(50)
    }
    throw new Error(`${role} is not ready: see ${this.folder}/${role}.log`)
  }

  async stop(): Promise<void> {
    for (const role of ['realtime', 'admin', 'recorder'] as const) await this.terminate(role)
    this.#children.get('mongo')?.kill('SIGTERM')
    await ended(this.#children.get('mongo'))
    await this.#redis?.close({ force: true })
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #startRedis(): Promise<void> {
    if (this.#options.redisUrl !== undefined) {
      this.redisUrl = this.#options.redisUrl
      return
    }
    const dataDir = join(this.folder, 'redis')
    mkdirSync(dataDir, { recursive: true })
    const appendfsync = this.#options.appendfsync ?? 'everysec'
    const runDir = runDirFor(this.folder)
    this.#redis = await startRedis({ dataDir, runDir, appendfsync, log: silent })
    this.redisUrl = this.#redis.url
  }

  async #startMongo(): Promise<void> {
    const given = this.#options.mongoUrl ?? process.env['TEST_MONGO_URL']
    if (given !== undefined) {
      this.mongoUrl = given
      return
    }
    const socket = join(runDirFor(this.folder), 'mongo.sock')
    const program = join(ROOT, 'dist/src/embedded/mongo.js')
    const data = join(this.folder, 'mongo')
    mkdirSync(data, { recursive: true })
    const log = openSync(join(this.folder, 'mongo.log'), 'a')
    const child = spawn(process.execPath, [program, '--data', data, '--socket', socket], {
      stdio: ['ignore', log, log, 'ipc'],
    })
    closeSync(log)
    this.#children.set('mongo', child)
    const [message] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error('embedded mongo did not start'))),
    ])) as [{ url: string }]
    this.mongoUrl = message.url
  }

  #spawnRole(role: Role): ChildProcess {
    const log = openSync(join(this.folder, `${role}.log`), 'a')
    const child = spawn(process.execPath, [join(ROOT, 'bin/tollgate.mjs'), role], {
      stdio: ['ignore', log, log, 'ipc'],
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: this.folder,
        TOLLGATE_DATA_DIR: this.folder,
        TOLLGATE_REDIS_URL: this.redisUrl,
        TOLLGATE_MONGO_URL: this.mongoUrl,
        TOLLGATE_MONGO_DATABASE: this.database,
        TOLLGATE_REALTIME_PORT: String(this.realtimePort),
        TOLLGATE_ADMIN_PORT: String(this.#adminPort),
        TOLLGATE_ADMIN_OPEN_TO: 'loopback',
        TOLLGATE_DIAMETER_PORT: String(this.diameterPort),
        TOLLGATE_LOG_LEVEL: 'warn',
        TOLLGATE_REDIS_CONNECT_TIMEOUT_MS: String(CONNECT_TIMEOUT_MS),
        TOLLGATE_REALTIME_QUEUE_MS_MAX: String(this.#options.queueMsMax ?? QUEUE_MS_MAX),
        ...this.#options.environment,
      },
    })
    // The child has its own descriptor; one more for each start would add up in a long test.
    closeSync(log)
    return child
  }
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  await once(child, 'exit')
}
