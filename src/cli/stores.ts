/**
 * Connects commands to the stores: the configured ones, or the embedded ones in the data folder.
 */
import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Accounts, createAccounts } from '../billing/run/open-accounts.ts'
import { type Catalog, openCatalog } from '../catalog/connection.ts'
import { CatalogUnavailableError, SlowReadError } from '../catalog/errors.ts'
import { epochRecordOf } from '../catalog/installation.ts'
import { clockOf } from '../catalog/installation-clock.ts'
import { type Patience, patienceOf } from '../catalog/patience.ts'
import type { Config } from '../config/schema.ts'
import { runDirFor } from '../embedded/run-dir.ts'
import { CustomerSystemError } from '../external/customers/errors.ts'
import { LedgerLostError } from '../ledger/epochs.ts'
import { ensureLedger } from '../ledger/install.ts'
import { createLedger, type Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../runtime/clock.ts'
import { createLogger, type Logger } from '../runtime/log.ts'
import { openRedis, type RedisConnection, StoreDownError, waitForRedis } from '../store/redis.ts'
import { CommandError } from './errors.ts'
import type { Shell } from './shell.ts'

const EMBEDDED = 'embedded'
const TOKEN_MAX = 2 ** 47

/** Socket path of the embedded MongoDB in a run folder. */
export function mongoSocketIn(runDir: string): string {
  return join(runDir, 'mongo.sock')
}

/** URL of a MongoDB that listens on a unix socket. */
export function mongoUrlOf(socketPath: string): string {
  return `mongodb://${encodeURIComponent(socketPath)}/?directConnection=true`
}

/**
 * The settings with resolved addresses. Throws `CommandError` if the embedded stores are not
 * running.
 */
export function withStoreUrls(config: Config): Config {
  const { redis, mongo, data } = config
  if (redis.url !== EMBEDDED && mongo.url !== EMBEDDED) return config
  if (!existsSync(data.dir)) throw notRunning(config)
  const runDir = runDirFor(data.dir)
  const redisSocket = join(runDir, 'redis.sock')
  const mongoSocket = mongoSocketIn(runDir)
  const needed = [
    ...(redis.url === EMBEDDED ? [redisSocket] : []),
    ...(mongo.url === EMBEDDED ? [mongoSocket] : []),
  ]
  if (!needed.every((path) => existsSync(path))) throw notRunning(config)
  return {
    ...config,
    redis: { ...redis, url: redis.url === EMBEDDED ? `unix://${redisSocket}` : redis.url },
    mongo: { ...mongo, url: mongo.url === EMBEDDED ? mongoUrlOf(mongoSocket) : mongo.url },
  }
}

function notRunning({ data }: Config): CommandError {
  return new CommandError(`tollgate is not running in ${data.dir}`)
}

export interface Connections {
  redis: RedisConnection
  catalog: Catalog
  close(): Promise<void>
}

export interface Stores extends Connections {
  ledger: Ledger
  /** Accounts and subscribers, of MongoDB or a customer system. */
  accounts: Accounts
  /** The clock of the installation. */
  clock: Clock
  /** Partitions that Redis has lost. */
  lost: readonly number[]
}

/** For a command of batch work, which tells on standard error that it waits. */
export function patienceIn(shell: Shell, { mongo }: Config): Patience {
  const seconds = Math.ceil(mongo.batchTimeoutMs / 1000)
  return patienceOf(mongo.batchTimeoutMs, (reason) =>
    shell.printError(
      reason === null ? 'the store answers again' : `${reason}; waiting for up to ${seconds} s`,
    ),
  )
}

/**
 * Connects and checks that both stores answer. Throws `CommandError` that names the one that does
 * not.
 */
export async function connectStores(config: Config, patience?: Patience): Promise<Connections> {
  const resolved = withStoreUrls(config)
  const log: Logger = createLogger({ name: 'cli', level: 'silent' })
  const catalog = await openCatalog({
    ...resolved.mongo,
    appName: 'tollgate-cli',
    readTimeoutMs: resolved.entities.readTimeoutMs,
    ...(patience !== undefined && { patience }),
  })
  const redis = openRedis(resolved.redis, log)
  const close = async () => {
    await Promise.all([redis.close(), catalog.close()])
  }
  try {
    await waitForRedis(redis, config.redis.connectTimeoutMs)
    await catalog.ping()
    return { redis, catalog, close }
  } catch (error) {
    await close()
    if (error instanceof StoreDownError && config.redis.url === EMBEDDED) throw notRunning(config)
    throw outageAsCommandError(error)
  }
}

/**
 * Like `connectStores`, with the ledger, which is installed if there never was one and may be lost.
 */
async function openStores(config: Config, patience?: Patience): Promise<Stores> {
  const connections = await connectStores(config, patience)
  const { redis, catalog } = connections
  try {
    const { partitions } = config.ledger
    const lost = await ensureLedger(redis, partitions, epochRecordOf(catalog))
    const ledger = createLedger(redis, config.ledger, randomInt(1, TOKEN_MAX))
    const clock = await clockOf(catalog, config)
    const accounts = createAccounts(catalog, config, clock)
    const close = async () => {
      await Promise.all([accounts.close(), connections.close()])
    }
    return { ...connections, ledger, accounts, clock, lost, close }
  } catch (error) {
    await connections.close()
    throw outageAsCommandError(error)
  }
}

export const LEDGER_LOST = "redis has lost the ledger: run 'tollgate ledger rebuild'"

/**
 * Converts an outage, and an error of a customer system, to a `CommandError`; returns other errors
 * unchanged.
 */
export function outageAsCommandError(error: unknown): unknown {
  if (error instanceof LedgerLostError) return new CommandError(LEDGER_LOST, { cause: error })
  const outages = [StoreDownError, CatalogUnavailableError, SlowReadError, CustomerSystemError]
  const isOutage = error instanceof Error && outages.some((kind) => error instanceof kind)
  return isOutage ? new CommandError(error.message, { cause: error }) : error
}

/** For a write to the ledger, which an outage of Redis may have followed. */
export function withOutcome(error: unknown, outcome: string): unknown {
  if (!(error instanceof StoreDownError) || error instanceof LedgerLostError) return error
  return new CommandError(`${error.message}; it may have been ${outcome}`, { cause: error })
}

/**
 * Runs `act` with MongoDB alone and the clock of the installation. Closes MongoDB afterwards.
 * Throws `CommandError`.
 */
export async function withCatalog<T>(
  config: Config,
  act: (catalog: Catalog, clock: Clock) => Promise<T>,
  patience?: Patience,
): Promise<T> {
  const { mongo, entities } = withStoreUrls(config)
  const { readTimeoutMs } = entities
  const catalog = await openCatalog({
    ...mongo,
    appName: 'tollgate-cli',
    readTimeoutMs,
    ...(patience !== undefined && { patience }),
  })
  try {
    // Batch work waits for a MongoDB that was there when it began.
    if (patience !== undefined) await catalog.ping()
    return await act(catalog, await clockOf(catalog, config))
  } catch (error) {
    throw outageAsCommandError(error)
  } finally {
    await catalog.close()
  }
}

/** Runs `act` with the stores and closes them afterwards. */
export async function withStores<T>(
  config: Config,
  act: (stores: Stores) => Promise<T>,
  patience?: Patience,
): Promise<T> {
  const stores = await openStores(config, patience)
  try {
    return await act(stores)
  } catch (error) {
    throw outageAsCommandError(error)
  } finally {
    await stores.close()
  }
}
