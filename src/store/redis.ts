/**
 * Connections to Redis: one per thread, failing fast while Redis is away and healing by themselves.
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
import { ScriptCommand, type ScriptValue, scriptSha } from './script-command.ts'

export type { RedisSettings } from './redis-options.ts'

/** Redis cannot be reached, did not answer in time, or refused a command for want of a resource. */
export class StoreDownError extends Error {
  override name = 'StoreDownError'
}

export interface ScriptCall {
  name: string
  text: string
  keys: string[]
  args: ScriptValue[]
  /** Waits for `replicaAcks` replicas: what it wrote must not be lost with its master. */
  isDurable: boolean
}

export interface RedisConnection {
  /** Errors of its commands pass through `guard`. */
  client: RedisClient
  isCluster: boolean
  /** Replicas that must have a commit. */
  replicaAcks: number
  /**
   * Runs a script by its digest. Bulk replies are Buffers. Throws `StoreDownError` if Redis is
   * away; whether a script that timed out took effect is then unknown.
   */
  runScript(call: ScriptCall): Promise<unknown>
  /** Waits for a command and turns what is an outage into `StoreDownError`. */
  guard<T>(command: Promise<T>): Promise<T>
  /** Asks every master; a single Redis is the only one. */
  onEachMaster<T>(ask: (master: RedisCommander) => Promise<T>): Promise<T[]>
  /** With what one more connection is made (bus.ts); in a cluster to each node that is known. */
  nodes(): ConnectionOptions[]
  /** Calls back when a connection ends: what was read before may not be what stands after. */
  onLost(listener: () => void): void
  isReady(): boolean
  /** Resolves when it is ready, or after the time. */
  untilReady(timeoutMs: number): Promise<void>
  close(): Promise<void>
}

type ScriptRunner = (keyCount: number, ...args: ScriptValue[]) => Promise<unknown>

/** Opens a connection without waiting for it: commands fail at once until Redis is there. */
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
    if (!away) log.warn({ err: error.message }, 'redis is away')
    away = true
  })
  client.on('ready', () => {
    if (away) log.info('redis is back')
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
    return runnerOf(client, call).call(client, keys.length, ...keys, ...args)
  }
  // On one connection: WAIT counts the replicas that have what this connection wrote.
  runnerOf(client, call)
  const pipeline = client.pipeline()
  const queue = pipeline as unknown as Record<string, ScriptRunner>
  queue[methodOf(call)]!.call(pipeline, keys.length, ...keys, ...args)
  pipeline.wait(replicaAcks, Math.ceil(commandTimeoutMs / 2))
  const [[failure, reply] = [null, null], [waitFailure, acks] = [null, 0]] =
    (await pipeline.exec()) ?? []
  if (failure !== null || waitFailure !== null) throw failure ?? waitFailure
  if (Number(acks) >= replicaAcks) return reply
  throw new StoreDownError(
    `redis: written, but ${acks} of ${replicaAcks} replicas have it (redis.replicaAcks)`,
  )
}

/** The driver's own way, which tells Redis the text where it has to. */
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
    // Nothing has run yet; this time the text goes along.
    const runner = runnerOf(client as unknown as DriverClient, call)
    return runner.call(client, keys.length, ...keys, ...args)
  }
}

/** Replies that a healthy Redis gives only to our own mistakes stay what they are. */
function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreDownError) return error
  const isRefused = REFUSED.test(error.message) || REFUSED_IN_SCRIPT.test(error.message)
  if (error.name === 'ReplyError' && !isRefused) return error
  return new StoreDownError(error.message, { cause: error })
}

const REFUSED =
  /^(LOADING|READONLY|OOM|MISCONF|BUSY|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|MOVED|ASK|TRYAGAIN)\b/
/** Redis 6 puts what a command within a script met behind its place. */
const REFUSED_IN_SCRIPT = /user_script: ?\d+: -(OOM|MISCONF|READONLY|NOREPLICAS)\b/

/** Resolves when Redis answers; rejects with `StoreDownError` after `timeoutMs`. */
export async function waitForRedis(redis: RedisConnection, timeoutMs: number): Promise<void> {
  await redis.untilReady(timeoutMs)
  if (redis.isReady()) return
  throw new StoreDownError(`redis did not answer within ${timeoutMs} ms`)
}

/** How often a cluster is looked at until all of its masters are connected. */
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
