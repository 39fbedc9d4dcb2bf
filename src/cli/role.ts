/** `tollgate realtime`, `admin`, `recorder`, `sources`: runs one role as a process. */
import { hostname } from 'node:os'
import { openCatalog } from '../catalog/connection.ts'
import { epochRecordOf } from '../catalog/installation.ts'
import { followClock } from '../catalog/installation-clock.ts'
import type { Config } from '../config/schema.ts'
import { ensureLedger, lostPartitions } from '../ledger/install.ts'
import type { Clock } from '../runtime/clock.ts'
import { createLogger, type Logger } from '../runtime/log.ts'
import { createMetrics, type Metrics } from '../runtime/metrics.ts'
import { createShutdown, type Shutdown } from '../runtime/shutdown.ts'
import { startSnapshotPublisher } from '../store/metrics-exchange.ts'
import { watchRedisPolicy } from '../store/policy-watch.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../store/redis.ts'
import { checkRedisPolicy } from '../store/redis-policy.ts'
import { type BoundPorts, beatToParent, endWithParent, mayListen, notifyParent } from './ipc.ts'
import { checkOpenFiles } from './open-files.ts'
import type { Shell } from './shell.ts'
import { withStoreUrls } from './stores.ts'

export type RoleName = 'realtime' | 'admin' | 'recorder' | 'sources'

export interface RoleContext {
  /** With resolved addresses of both stores. */
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  /** Whether the Redis configuration is still as required, and whether Redis can write. */
  readonly isRedisFit: () => boolean
  readonly canRedisWrite: () => boolean
  /** False while the whole ledger is lost. */
  readonly isLedgerThere: () => boolean
  /** Time limit for recording the remaining entries at shutdown. */
  readonly drainMs: number
  /**
   * Resolves when the role may open its sockets. A standby waits for the take-over and resolves
   * with true.
   */
  mayListen(): Promise<boolean>
  /** Reports a permanent failure of a part of the role: shuts the process down with exit code 1. */
  fail(error: Error, what: string): void
}

export interface RunningRole {
  /** Ports that the role listens on; absent if it has none. */
  readonly ports?: BoundPorts
  close(): Promise<void>
}

export type StartRole = (context: RoleContext) => Promise<RunningRole>
export type Roles = Readonly<Record<RoleName, StartRole>>

/**
 * The role needs most of the time to finish requests in flight; other steps only release resources.
 */
const ROLE_SHARE = 0.9
/** Smaller, because the control plane also finishes requests in flight. */
const DRAIN_SHARE = 0.25

/**
 * Starts a role and leaves it running until a signal. A failed start is reported to the parent
 * process, which logs it and retries; without a parent it rejects.
 */
export async function runRole(
  shell: Shell,
  name: RoleName,
  startRole: StartRole,
): Promise<1 | undefined> {
  try {
    const isPart = process.connected
    const given = shell.config(isPart)
    checkOpenFiles(name, given)
    const config = withStoreUrls(given)
    const log = createLogger({ name, level: config.log.level })
    const shutdown = createShutdown({ timeoutMs: config.shutdown.timeoutMs, log })
    shutdown.listen()
    await startInOrder(name, startRole, config, log, shutdown)
  } catch (error) {
    if (!process.connected) throw error
    notifyParent({ type: 'failed', reason: error instanceof Error ? error.message : String(error) })
    // The open channel would keep this process alive.
    process.disconnect()
    return 1
  }
  return undefined
}

async function startInOrder(
  name: RoleName,
  startRole: StartRole,
  config: Config,
  log: Logger,
  shutdown: Shutdown,
): Promise<void> {
  const metrics = createMetrics({ node: nodeOf(name, config), role: name })
  const drainMs = config.shutdown.timeoutMs * DRAIN_SHARE
  const redis = openRedis(config.redis, log)
  shutdown.add('redis', () => redis.close())
  try {
    await waitForRedis(redis, config.redis.connectTimeoutMs)
    await checkRedisPolicy(redis, log)
    const lost = await findLedger(redis, config)
    const followed = await followClock(config, log)
    shutdown.add('clock', () => followed.close())
    const watch = watchLedger(redis, config.ledger.partitions, lost, log)
    shutdown.add('ledger watch', () => watch.stop())
    const policy = watchRedisPolicy(redis, log, metrics.redisCannotWrite)
    shutdown.add('redis policy', () => policy.stop())
    const { canWrite: canRedisWrite } = policy
    const isRedisFit = () => policy.isSatisfied() && canRedisWrite()
    const isLedgerThere = () => watch.isAvailable()
    const fitness = { isRedisFit, canRedisWrite, isLedgerThere }
    const role = await startRole({
      config,
      log,
      metrics,
      clock: followed.clock,
      ...fitness,
      drainMs,
      mayListen() {
        if (name === 'realtime') beatToParent(config.realtime.silenceMs)
        return mayListen()
      },
      fail: shutdown.fail,
    })
    if (name !== 'admin') {
      const publisher = startSnapshotPublisher(redis, `${hostname()}:${process.pid}`, metrics, log)
      shutdown.add('metrics', () => publisher.stop())
    }
    shutdown.add(name, () => role.close(), ROLE_SHARE)
    const { ports = {} } = role
    beatToParent(config.realtime.silenceMs)
    notifyParent({ type: 'ready', ports })
    log.info(ports, 'ready')
    endWithParent()
  } catch (error) {
    await shutdown.run('start failed')
    throw error
  }
}

/**
 * Installs the ledger if there never was one; returns the lost partitions. MongoDB is needed only
 * if Redis is empty.
 */
async function findLedger(redis: RedisConnection, config: Config): Promise<number[]> {
  const catalog = await openCatalog({ ...config.mongo, appName: 'tollgate-start' })
  try {
    return await ensureLedger(redis, config.ledger.partitions, epochRecordOf(catalog))
  } finally {
    await catalog.close()
  }
}

const LEDGER_CHECK_MS = 2_000

interface LedgerWatch {
  /** False while all partitions are lost; in a cluster, part of them may be. */
  isAvailable(): boolean
  stop(): void
}

/** `lost`: partitions found missing at start. An outage is not a loss: the last result stays. */
function watchLedger(
  redis: RedisConnection,
  partitions: number,
  lost: readonly number[],
  log: Pick<Logger, 'error' | 'info'>,
): LedgerWatch {
  let before = 0
  const report = (now: number) => {
    if (now > 0 && now !== before) {
      const advice = 'nothing is charged there until `tollgate ledger rebuild` has run'
      log.error({ partitions: now }, `redis has lost the ledger: ${advice}`)
    }
    if (now === 0 && before > 0) log.info('the ledger is back')
    before = now
  }
  report(lost.length)
  const checkAgain = async () => report((await lostPartitions(redis, partitions)).length)
  const timer = setInterval(() => checkAgain().catch(() => undefined), LEDGER_CHECK_MS)
  timer.unref()
  return { isAvailable: () => before < partitions, stop: () => clearInterval(timer) }
}

/** The port distinguishes nodes on one machine and survives a restart. */
function nodeOf(name: RoleName, config: Config): string {
  const port = name === 'recorder' || name === 'sources' ? 0 : config[name].port
  return `${hostname()}:${port === 0 ? process.pid : port}`
}
