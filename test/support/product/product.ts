/**
 * The real product in a folder of its own: Redis, the embedded MongoDB and the roles as processes,
 * each of which can be killed and started again. For the benchmark and the system tests.
 * TEST_MONGO_URL replaces the embedded MongoDB.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type EmbeddedRedis, startRedis } from '../../../src/embedded/redis.ts'
import { runDirFor } from '../../../src/embedded/run-dir.ts'
import { waitUntil } from '../wait.ts'
import { PATIENT } from './patience.ts'

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
  /** More settings, as TOLLGATE_* variables; limits are PATIENT by default. */
  environment?: Record<string, string>
}

export interface Product {
  folder: string
  /** Ports are chosen by the first start of a role, and kept by the later ones. */
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

export async function startProduct(options: ProductOptions = {}): Promise<Product> {
  const product = new RunningProduct(options)
  await product.begin()
  return product
}

const QUEUE_MS_MAX = 10_000
const READY_TIMEOUT_MS = 120_000
/** Another process may use the port of a role while that does not run. */
const PORT_ATTEMPTS = 20

interface StartMessage {
  type: string
  reason?: string
  ports?: Readonly<Record<string, number>>
}

class RunningProduct implements Product {
  readonly folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-'))
  readonly database: string
  redisUrl = ''
  mongoUrl = ''
  readonly #ports: Record<string, number> = {}
  #redis: EmbeddedRedis | null = null
  readonly #children = new Map<Role | 'mongo', ChildProcess>()
  readonly #options: ProductOptions

  constructor(options: ProductOptions) {
    this.#options = options
    this.database = options.database ?? `tollgate_${randomUUID().replaceAll('-', '')}`
  }

  get realtimePort(): number {
    return this.#portOf('realtime.port')
  }

  get diameterPort(): number {
    return this.#portOf('diameter.port')
  }

  get realtimeUrl(): string {
    return `http://127.0.0.1:${this.realtimePort}`
  }

  get adminUrl(): string {
    return `http://127.0.0.1:${this.#portOf('admin.port')}`
  }

  async begin(): Promise<void> {
    try {
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
    const message = await this.#startRole(part)
    if (message.type !== 'ready') throw new Error(`${part} did not start: ${message.reason}`)
    Object.assign(this.#ports, message.ports)
    if (part !== 'recorder') await this.ready(part)
  }

  async #startRole(role: Role, attemptsLeft = PORT_ATTEMPTS): Promise<StartMessage> {
    const child = this.#spawnRole(role)
    this.#children.set(role, child)
    const message = (await new Promise((resolve) => {
      child.on('message', (sent: StartMessage) => sent.type !== 'alive' && resolve(sent))
      child.once('exit', () => resolve({ type: 'failed', reason: 'it ended' }))
    })) as StartMessage
    if (attemptsLeft === 0 || !this.#lacksPort(role, message)) return message
    await this.terminate(role)
    await pause(500)
    return this.#startRole(role, attemptsLeft - 1)
  }

  /** Charging starts without Diameter if only that port is in use. */
  #lacksPort(role: Role, { reason = '', ports }: StartMessage): boolean {
    if (/port is in use|EADDRINUSE/.test(reason)) return true
    const isKept = this.#ports['diameter.port'] !== undefined
    return role === 'realtime' && isKept && ports !== undefined && !('diameter.port' in ports)
  }

  #portOf(setting: string): number {
    const port = this.#ports[setting]
    if (port === undefined) throw new Error(`${setting} is not known before the first start`)
    return port
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
    await waitUntil(
      `${role} is ready: see ${this.folder}/${role}.log`,
      async () => {
        if (child !== undefined && child.exitCode !== null) {
          throw new Error(`${role} ended with ${child.exitCode}: see ${this.folder}/${role}.log`)
        }
        const answer = await fetch(`${url}/health/ready`).catch(() => null)
        return answer?.status === 200
      },
      READY_TIMEOUT_MS,
    )
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
        TOLLGATE_REALTIME_PORT: String(this.#ports['realtime.port'] ?? 0),
        TOLLGATE_ADMIN_PORT: String(this.#ports['admin.port'] ?? 0),
        TOLLGATE_ADMIN_OPEN_TO: 'loopback',
        TOLLGATE_DIAMETER_PORT: String(this.#ports['diameter.port'] ?? 0),
        TOLLGATE_LOG_LEVEL: 'warn',
        ...PATIENT,
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
