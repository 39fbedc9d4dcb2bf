/**
 * Redis connections: one per thread; commands fail fast during an outage, and the connection
 * recovers by itself.
 */
import { Redis, type RedisCommander } from 'ioredis'
import type { Logger } from '../runtime/log.ts'
import type { Driver, DriverClient, RedisClient } from './driver.ts'
import { openCluster } from './redis-cluster.ts'
import {
  addressOf,
  type ConnectionOptions,
  isClusterUrl,
  type RedisSettings,
  singleOptions,
} from './redis-options.ts'
import { ScriptCommand, type ScriptValue, scriptSha, separateValues } from './script-command.ts'

export type { RedisSettings } from './redis-options.ts'

/** Redis is unreachable, did not answer in time, or refused a command for lack of a resource. */
export class StoreDownError extends Error {
  override name = 'StoreDownError'
}

export interface ScriptCall {
  name: string
  text: string
  keys: string[]
  args: ScriptValue[]
  /** Whether to wait for `replicaAcks` replicas: the write must survive a failover. */
  isDurable: boolean
}

export interface RedisConnection {
  /** Commands must be wrapped in `guard`. */
  client: RedisClient
  isCluster: boolean
  /** Replicas that must acknowledge a commit. */
  replicaAcks: number
  /**
   * Runs a script by its digest. Bulk replies are Buffers. Throws `StoreDownError` in an outage;
   * whether a script that timed out took effect is unknown then.
   */
  runScript(call: ScriptCall): Promise<unknown>
  /** Awaits a command and converts outages to `StoreDownError`. */
  guard<T>(command: Promise<T>): Promise<T>
  /** Runs `ask` on every master; a single Redis is the only one. */
  onEachMaster<T>(ask: (master: RedisCommander) => Promise<T>): Promise<T[]>
  /** Options of an additional connection (bus.ts); in a cluster to each known node. */
  nodes(): ConnectionOptions[]
  /** Calls the listener when a connection ends: values read before may be outdated. */
  onLost(listener: () => void): void
  isReady(): boolean
  /** Resolves when the connection is ready, or after the time-out. */
  untilReady(timeoutMs: number): Promise<void>
  close(): Promise<void>
}

type ScriptRunner = (keyCount: number, ...args: ScriptValue[]) => Promise<unknown>

/**
 * Opens a connection without waiting for it: commands fail immediately until Redis is available.
 */
export function openRedis(settings: RedisSettings, log: Logger): RedisConnection {
  const isCluster = isClusterUrl(settings.url)
  const driver = isCluster ? openCluster(settings) : openSingle(settings)
  const { client } = driver
  logOutages(client, log)
  const guard = <T>(command: Promise<T>) =>
    command.catch((error) => {
      const known = asStoreError(error)
      if (known instanceof StoreDownError) driver.onOutage()
      return Promise.reject(known)
    })
  return {
    client,
    isCluster,
    replicaAcks: settings.replicaAcks ?? 0,
    guard,
    runScript: (call) => guard(runScript(client, call, settings)),
    onEachMaster: (ask) => guard(Promise.all(driver.masters().map(ask))),
    nodes: () => driver.nodes(),
    onLost: (listener) => driver.onLost(listener),
    isReady: () => driver.isReady(),
    untilReady: (timeoutMs) => untilReady(driver, timeoutMs),
    async close() {
      client.disconnect()
    },
  }
}

function logOutages(client: DriverClient, log: Logger): void {
  let away = false
  client.on('error', (error: Error) => {
    if (!away) log.warn({ err: error.message }, 'redis is unavailable')
    away = true
  })
  client.on('ready', () => {
    if (away) log.info('redis is available again')
    away = false
  })
}

function openSingle(settings: RedisSettings): Driver {
  const options = singleOptions(settings, addressOf(settings.url))
  const client = new Redis(options)
  return {
    client: client as unknown as DriverClient,
    masters: () => [client],
    nodes: () => [options],
    onLost: (listener) => client.on('close', listener),
    isReady: () => client.status === 'ready',
    onOutage: () => undefined,
  }
}

async function runScript(
  client: DriverClient,
  call: ScriptCall,
  { replicaAcks = 0, commandTimeoutMs }: RedisSettings,
): Promise<unknown> {
  const { keys, args, isDurable } = call
  if (!isDurable || replicaAcks === 0) {
    if (client instanceof Redis) return sendScript(client, call)
    return runnerOf(client, call).call(client, keys.length, ...keys, ...separateValues(args))
  }
  // WAIT must use the same connection: it counts the replicas that have this connection's writes.
  runnerOf(client, call)
  const pipeline = client.pipeline()
  const queue = pipeline as unknown as Record<string, ScriptRunner>
  queue[methodOf(call)]!.call(pipeline, keys.length, ...keys, ...separateValues(args))
  pipeline.wait(replicaAcks, Math.ceil(commandTimeoutMs / 2))
  const [[failure, reply] = [null, null], [waitFailure, acks] = [null, 0]] =
    (await pipeline.exec()) ?? []
  if (failure !== null || waitFailure !== null) throw failure ?? waitFailure
  if (Number(acks) >= replicaAcks) return reply
  throw new StoreDownError(
    `redis: written, but ${acks} of ${replicaAcks} replicas have it (redis.replicaAcks)`,
  )
}

/** The driver's own call, which sends the script text if Redis does not have it. */
function runnerOf(client: DriverClient, call: ScriptCall): ScriptRunner {
  const method = methodOf(call)
  const commands = client as unknown as Record<string, ScriptRunner | undefined>
  if (commands[method] === undefined) client.defineCommand(call.name, { lua: call.text })
  return commands[method]!
}

function methodOf({ name }: ScriptCall): string {
  return `${name}Buffer`
}

const shas = new Map<string, string>()

async function sendScript(client: Redis, call: ScriptCall): Promise<unknown> {
  const { name, text, keys, args } = call
  let sha = shas.get(text)
  if (sha === undefined) {
    sha = scriptSha(text)
    shas.set(text, sha)
  }
  try {
    return await client.sendCommand(new ScriptCommand(name, sha, keys, args))
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    // The script has not run; repeat the call with its text.
    const runner = runnerOf(client as unknown as DriverClient, call)
    return runner.call(client, keys.length, ...keys, ...separateValues(args))
  }
}

/** Error replies that only a defect of the product causes are returned unchanged. */
function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreDownError) return error
  const isRefused = REFUSED.test(error.message) || REFUSED_IN_SCRIPT.test(error.message)
  if (error.name === 'ReplyError' && !isRefused) return error
  return new StoreDownError(error.message, { cause: error })
}

const REFUSED =
  /^(LOADING|READONLY|OOM|MISCONF|BUSY|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|MOVED|ASK|TRYAGAIN)\b/
/** Redis 6 prefixes errors of commands within a script with their position. */
const REFUSED_IN_SCRIPT = /user_script: ?\d+: -(OOM|MISCONF|READONLY|NOREPLICAS)\b/

/** Resolves when Redis is ready; rejects with `StoreDownError` after `timeoutMs`. */
export async function waitForRedis(redis: RedisConnection, timeoutMs: number): Promise<void> {
  await redis.untilReady(timeoutMs)
  if (redis.isReady()) return
  throw new StoreDownError(`redis did not answer within ${timeoutMs} ms`)
}

/** Polling interval until all masters of a cluster are connected. */
const LOOK_MS = 20

function untilReady(driver: Driver, timeoutMs: number): Promise<void> {
  if (driver.isReady()) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      clearInterval(looking)
      resolve()
    }
    const timer = setTimeout(done, timeoutMs)
    const looking = setInterval(() => {
      if (driver.isReady()) done()
    }, LOOK_MS)
  })
}
