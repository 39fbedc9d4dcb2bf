import { randomInt } from 'node:crypto'
import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { createLiveCatalogue } from '../billing/quote/live-catalogue.ts'
import { settingsOf } from '../billing/quote/settings.ts'
import { createAccounts } from '../billing/run/open-accounts.ts'
import { createAudit } from '../catalog/audit/audit.ts'
import { type Catalog, openCatalog } from '../catalog/connection.ts'
import { patienceOf } from '../catalog/patience.ts'
import {
  type CurrentSettings,
  createCurrentSettings,
} from '../catalog/settings/current-settings.ts'
import type { OutboxRunner } from '../catalog/transactions/dispatcher.ts'
import { watchMongoWrites } from '../catalog/write-watch.ts'
import { isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import type { EntityApi } from '../entities/api.ts'
import type { CheckFileType } from '../file-types/check-report.ts'
import { hasGeneratedPassword } from '../identity/first-admin.ts'
import { type FirstAdminWatch, watchFirstAdmin } from '../identity/first-admin-watch.ts'
import { createCycle } from '../jobs/cycle/cycle.ts'
import { watchRuns } from '../jobs/cycle/watch.ts'
import { type JobRunnerOptions, startJobRunner } from '../jobs/runner.ts'
import { createLedger } from '../ledger/ledger.ts'
import { createCardGuesses } from '../prepaid/cards/guesses.ts'
import { type Recorder, startRecorder } from '../recorder/start.ts'
import { createReports } from '../reports/parts.ts'
import { type Clock, loopActiveMs, monotonicMs, realTimeOf } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { AUTH_KEYS, openExpiringKeys } from '../store/expiring.ts'
import { openRedis } from '../store/redis.ts'
import { limitAnonymous } from './anonymous-work.ts'
import { type Auth, type AuthOptions, createAuth } from './auth/auth.ts'
import { refuseCrossSite } from './browsers.ts'
import { createClockMover } from './clock/move.ts'
import { listedOrigins } from './cors.ts'
import { createEntityApi } from './entity-api.ts'
import { jobHandlers, startStandingJobs } from './job-handlers.ts'
import { checkListening, listen } from './listening.ts'
import { createPayments, type Payments } from './payments.ts'
import { startReseal } from './reseal.ts'
import { addRoutes } from './routes.ts'
import { createServer } from './server.ts'

export interface AdminOptions {
  /** Resolved addresses of both stores. */
  config: Config
  log: Logger
  metrics: Metrics
  clock: Clock
  /** Belongs to the modules of charging; without it `/api/filetype/check` is unavailable. */
  checkFileType?: CheckFileType
  /** Whether the configuration of Redis is safe against loss; true by default. */
  isRedisFit?: () => boolean
  /** Whether Redis accepts writes; true by default. */
  canRedisWrite?: () => boolean
}

export interface Admin {
  /** Bound port. */
  readonly port: number
  /** Stops the recorder, which drains the streams for at most `drainMs`, then the server. */
  close(drainMs: number): Promise<void>
}

const TOKEN_MAX = 2 ** 47

const OPEN = 'the control plane is open to the network without authentication'

/**
 * Starts the control plane, with the recorder unless that runs separately. The stores need not be
 * available. Throws `AdminListenError`, or `CatalogUrlError` for an invalid MongoDB URL.
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { config, log, metrics, clock, checkFileType } = options
  const { isRedisFit = () => true, canRedisWrite = () => true } = options
  const { catalog, reader, batch, endWaiting } = await openCatalogs(config, log)
  const redis = openRedis(config.redis, log)
  const ledger = createLedger(redis, config.ledger, randomInt(1, TOKEN_MAX))
  const settings = createCurrentSettings(catalog, clock, config.catalog.pollMs)
  const audit = createAudit(catalog)
  const keys = openExpiringKeys(redis, AUTH_KEYS)
  const dataDir = resolve(config.data.dir)
  const auth = openAuth({ catalog, keys, settings, audit, clock, config, log, dataDir })
  const parts = { catalog, clock, config, log }
  const accounts = createAccounts(catalog, config, clock)
  const { openAccounts, lookup } = accounts
  const cardGuesses = createCardGuesses({ ...parts, keys, settings, audit, metrics })
  const entityApi = createEntityApi({ ...parts, batch, ledger, lookup, cardGuesses })
  const payments = createPayments({ ...parts, lookup, settings, entityApi })
  const { charges } = payments
  const cycle = createCycle({ ...parts, batch, openAccounts })
  const reports = createReports({ catalog, batch, reader, config, fields: entityApi.fields })
  const liveCatalogue = createLiveCatalogue({ catalog, log, settings: settingsOf(config.rating) })
  const jobParts = { config, metrics, payments, cycle, reports }
  const handlers = jobHandlers(entityApi, jobParts)
  const clockMover = createClockMover({ ...parts, ledger, metrics, handlers, audit, charges })
  const ends: { stop(): Promise<void> | void }[] = []
  let outbox: OutboxRunner | undefined
  let recorder: Recorder | undefined
  // Without authentication no user has to be created.
  let hasUsers = () => auth.guard.isOpen
  const server = createServer(config.admin, log, metrics)
  const close = async (drainMs: number) => {
    clockMover.stop()
    endWaiting()
    await recorder?.stop(drainMs)
    await server.close()
    for (const end of ends) await end.stop()
    await Promise.all([accounts.close(), liveCatalogue.stop()])
    await batch.close()
    await Promise.all([redis.close(), catalog.close(), reader.close()])
  }
  try {
    if (config.clock.test) await refuseLiveGateway(charges)
    const writes = watchMongoWrites(catalog, log, metrics.mongoCannotWrite)
    ends.push({ stop: auth.close }, writes)
    guardRequests(server, auth, config.admin, settings)
    const areChangesFinished = () => outbox?.hasRun() === true
    const fitness = { isRedisFit, canRedisWrite, canMongoWrite: writes.canWrite }
    const health = { ...fitness, areChangesFinished, hasUsers: () => hasUsers() }
    const charging = { lookup, liveCatalogue, checkFileType, cardGuesses, health }
    const apis = { audit, auth, entityApi, payments, cycle, reports, ...charging }
    addRoutes(server, { ...parts, ...apis, redis, clockMover, metrics, settings })
    if (!auth.guard.isOpen) {
      const first = watchFirstAdmin({ catalog, clock: realTimeOf(clock), log, dataDir })
      ends.push(first)
      hasUsers = first.hasUser
      await mayListen(config, catalog, realTimeOf(clock), first)
    }
    outbox = catalog.dispatcher.start()
    const runner = startPatientRunner(entityApi, { ...parts, catalog: batch }, jobParts)
    ends.push(outbox, runner, startStandingJobs(parts), startReseal(parts))
    ends.push(cycle, watchRuns(cycle, metrics))
    const port = await listen(server, config.admin)
    warnIfOpen(config, port, log)
    if (config.recorder.enabled) recorder = await startRecorder(options)
    return { port, close }
  } catch (error) {
    await close(0)
    throw error
  }
}

/** The handlers get sessions of the runner: both have the same connection. */
function startPatientRunner(
  entityApi: EntityApi,
  parts: Omit<JobRunnerOptions, 'handlers'>,
  jobParts: Parameters<typeof jobHandlers>[1],
) {
  return startJobRunner({ ...parts, handlers: jobHandlers(entityApi.batch, jobParts) })
}

function warnIfOpen({ admin: { host, openTo } }: Config, port: number, log: Logger): void {
  if (!isLoopback(host) && openTo === 'network') log.warn({ host, port }, OPEN)
}

async function openCatalogs(config: Config, log: Logger) {
  const { readTimeoutMs } = config.entities
  const catalog = await openCatalog({ ...config.mongo, appName: 'tollgate-admin', readTimeoutMs })
  const stopping = new AbortController()
  return {
    catalog,
    reader: await openReader(config),
    batch: await openBatch(config, log, catalog, stopping.signal),
    endWaiting: () => stopping.abort(),
  }
}

/** The connection of batch work, which waits for MongoDB, and has the outbox of the others. */
function openBatch(
  { mongo, entities: { readTimeoutMs } }: Config,
  log: Logger,
  first: Catalog,
  signal: AbortSignal,
): Promise<Catalog> {
  const tell = (reason: string | null) => {
    if (reason === null) log.info('batch work continues')
    else log.warn({ reason }, 'batch work waits for MongoDB')
  }
  const patience = { ...patienceOf(mongo.batchTimeoutMs, tell), signal }
  return openCatalog({ ...mongo, appName: 'tollgate-jobs', readTimeoutMs, patience }, first)
}

/** Few at once: reports wait for each other before they occupy the store. */
const READER_CONNECTIONS_MAX = 4

/** The connection for reports, so that they take none of the others. */
function openReader({ mongo, reports, entities }: Config): Promise<Catalog> {
  return openCatalog({
    ...mongo,
    appName: 'tollgate-reports',
    readTimeoutMs: Math.max(reports.timeoutMs, entities.readTimeoutMs),
    connectionsMax: READER_CONNECTIONS_MAX,
    readsReplica: true,
  })
}

/** Logins are in real time: moving the clock ends none. */
function openAuth(options: Omit<AuthOptions, 'validityClock'>): Auth {
  const { clock } = options
  const real = realTimeOf(clock)
  // The commands create users in real time.
  const validityClock = { nowMs: () => Math.max(clock.nowMs(), real.nowMs()) }
  return createAuth({ ...options, clock: real, installationClock: clock, validityClock })
}

/** A test clock beside a gateway that moves real money. */
export class LiveGatewayError extends Error {
  override name = 'LiveGatewayError'
}

async function refuseLiveGateway(charges: Payments['charges']): Promise<void> {
  const live = await charges.gateways.live()
  if (live === null) return
  throw new LiveGatewayError(
    `clock.test is true, but payment gateway ${live} has a key of production: ` +
      'remove it, or set clock.test to false',
  )
}

/** Rules of all routes: who may call, from which pages, and how much work without a session. */
function guardRequests(
  server: FastifyInstance,
  { guard }: Auth,
  admin: Config['admin'],
  settings: CurrentSettings,
): void {
  guard.install(server)
  refuseCrossSite(server, admin, listedOrigins(settings))
  if (guard.isOpen) return
  const times = { nowMs: monotonicMs, activeMs: loopActiveMs }
  limitAnonymous(server, { percent: admin.anonymousPercent, ...times }, guard.hasSession)
}

/** Before exposing the port, checks that no user has a generated password. */
async function mayListen(
  config: Config,
  catalog: Catalog,
  clock: Clock,
  first: FirstAdminWatch,
): Promise<void> {
  // A node that is ready has its first user, and the file with the password.
  await first.firstAttempt
  await checkListening({
    config,
    hasGeneratedPassword: () => hasGeneratedPassword(catalog, clock.nowMs()),
  })
}
