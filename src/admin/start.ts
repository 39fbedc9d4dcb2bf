import { randomInt } from 'node:crypto'
import { openCatalog } from '../catalog/connection.ts'
import { isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import { createLedger } from '../ledger/ledger.ts'
import { type Recorder, startRecorder } from '../recorder/start.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { openRedis } from '../store/redis.ts'
import { addApiPages } from './api-pages.ts'
import { type AuditRetention, startAuditRetention } from './audit/retention.ts'
import { refuseOtherSites } from './browsers.ts'
import { addEntityApi } from './entities/routes.ts'
import { createEntityApi, type Repairs, startRepairs } from './entity-api.ts'
import { addHealth } from './health.ts'
import { addHeartbeat } from './heartbeat.ts'
import { addMetrics } from './metrics.ts'
import { createServer, listen } from './server.ts'

export interface AdminOptions {
  /** With the real addresses of both stores. */
  config: Config
  log: Logger
  metrics: Metrics
  clock: Clock
  /** Whether Redis is configured so that nothing is lost; taken for true if not given. */
  isRedisFit?: () => boolean
}

export interface Admin {
  /** Port that was taken. */
  readonly port: number
  /** Ends the recorder, which records what is left for `drainMs` at most, then the server. */
  close(drainMs: number): Promise<void>
}

const TOKEN_MAX = 2 ** 47

const OPEN = 'the control plane is open to the network, and nobody authenticates'

/**
 * Starts the control plane, and the recorder in it unless that runs by itself. Neither store need
 * be there. Throws `AdminListenError`, or `CatalogUrlError` if the URL of MongoDB is of no use.
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { config, log, metrics, clock, isRedisFit = () => true } = options
  const catalog = await openCatalog({ ...config.mongo, appName: 'tollgate-admin' })
  const redis = openRedis(config.redis, log)
  const ledger = createLedger(redis, config.ledger, randomInt(1, TOKEN_MAX))
  const entityApi = createEntityApi({ catalog, ledger, clock, config, log })
  let repairs: Repairs | undefined
  let retention: AuditRetention | undefined
  const server = createServer(log)
  refuseOtherSites(server, config.admin)
  addHeartbeat(server, { redis, catalog })
  addEntityApi(server, entityApi, log)
  addApiPages(server, entityApi, log)
  const { partitions } = config.ledger
  const areChangesFinished = () => repairs?.hasRun() === true
  addHealth(server, { redis, catalog, partitions, isRedisFit, areChangesFinished })
  addMetrics(server, { redis, metrics, log })
  let recorder: Recorder | undefined
  const close = async (drainMs: number) => {
    await recorder?.stop(drainMs)
    await server.close()
    await Promise.all([repairs?.stop(), retention?.stop()])
    await Promise.all([redis.close(), catalog.close()])
  }
  try {
    repairs = startRepairs(entityApi.stores, log)
    retention = startAuditRetention({ catalog, clock, config, log })
    const port = await listen(server, config.admin)
    const { host } = config.admin
    if (!isLoopback(host)) log.warn({ host, port }, OPEN)
    if (config.recorder.enabled) recorder = await startRecorder(options)
    return { port, close }
  } catch (error) {
    await close(0)
    throw error
  }
}
