import type { CurrentClients } from '../catalog/clients/clients-watch.ts'
import type { CurrentStoredConfig } from '../catalog/follow-stored-config.ts'
import type { Peers } from '../catalog/settings/peers/peers.ts'
import { isLoopback, mustAuthenticate } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import type { SessionEvent } from '../domain/worker-task.ts'
import type { FileTypeDefaults } from '../file-types/file-type.ts'
import {
  type Clock,
  type ClockOffset,
  monotonicMs,
  processMs,
  realTimeOf,
} from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { type ClientStates, openClientStates } from '../store/client-states.ts'
import { AUTH_KEYS, openExpiringKeys } from '../store/expiring.ts'
import { openRedis, type RedisConnection } from '../store/redis.ts'
import { createTokens } from '../store/tokens.ts'
import { type Admission, type AdmissionOptions, createAdmission, TICK_MS } from './admission.ts'
import { type Charge, createCharge } from './charge.ts'
import type { DecodeContext } from './codecs/codec.ts'
import { createJsonCodec, type JsonCodec } from './codecs/json/codec.ts'
import { identityOf } from './diameter/identity.ts'
import { type DiameterService, startDiameterService } from './diameter/service.ts'
import { createAuthenticator, createKeyCheck } from './http/authenticate.ts'
import {
  type ClientAuthenticator,
  type ClientAuthenticatorStore,
  createClientAuthenticator,
} from './http/client-authenticator.ts'
import type { HttpServer } from './http/listening.ts'
import { createRateLimits, type RateLimits } from './http/rate-limits.ts'
import { startHttpServer } from './http/server.ts'
import type { BuildWorker } from './inline-worker.ts'
import { createMessageFormats, isMessageFormat, type MessageFormats } from './message-formats.ts'
import { type Pool, startPool } from './pool.ts'
import { openPorts } from './port-handover.ts'
import { isInline, type ListenPort, type ThreadContext, workersOf } from './thread-context.ts'

export interface RealtimeOptions {
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  /** Defaults of the installation for all file types. */
  readonly defaults: FileTypeDefaults
  /** Whether Redis is configured so that no data is lost; true if not given. */
  readonly isRedisFit?: () => boolean
  /** Whether Redis has the ledger's data, or its partition of it; true if not given. */
  readonly isLedgerThere?: () => boolean
  /** Request fields that the configured rules read; none if not given. */
  readonly rules?: RequestRules
  /** Subscribes to stored file types and peers; not given: no file types and peers are stored. */
  readonly follow?: FollowStored
  /**
   * Resolves when the sockets may be opened: with true if the process replaces one that has just
   * ended. Not given: the sockets are opened immediately.
   */
  readonly mayListen?: () => Promise<boolean>
  /** Builds a worker on the event loop; not given: workers are always threads. */
  readonly buildWorker?: BuildWorker<RealtimeWorkerData>
  /** Worker module; the module of the built product if not given. */
  readonly workerFile?: URL
  /** Context of one of several event loops; not given for a single event loop. */
  readonly threadContext?: ThreadContext
}

/** Calls the listeners immediately if the configuration can be read, and on every change. */
export type FollowStored = (
  onStored: (stored: CurrentStoredConfig) => void,
  onClients: (clients: CurrentClients) => void,
) => Promise<{ close(): Promise<void> }>

const NOTHING_STORED: FollowStored = async (onStored) => {
  const by = { byKey: () => null, byOriginHost: () => null, byCertificate: () => null }
  const nobody = { ...by, all: [], skipped: [] }
  onStored({ fileTypes: [], peers: nobody })
  return { close: async () => undefined }
}

/** Request fields that matching and identification read, by the configuration. */
export type RequestRules = Pick<DecodeContext, 'keptFields' | 'identifyingFields' | 'identifies'>

const NO_RULES: RequestRules = { keptFields: [], identifyingFields: [], identifies: () => false }

/** Worker data of a worker. */
export interface RealtimeWorkerData {
  readonly config: Config
  /** Offset of the clock, if it differs from the system clock. */
  readonly ahead?: ClockOffset | undefined
  /** Index of the worker from 0, unique over all event loops. */
  readonly worker: number
}

export interface Realtime {
  /** The port in use. */
  readonly port: number
  /** Diameter ports in use; 0 if it does not listen there. */
  readonly diameterPort: number
  readonly diameterTlsPort: number
  /**
   * Accepts no new requests, lets those in flight be answered (within `requestTimeoutMs`), and
   * closes sockets and workers.
   */
  close(): Promise<void>
  /** Cuts all HTTP connections, for a process that exits without an orderly end. */
  abandon(): void
}

const OPEN = 'charging is open to the network without authentication'

/**
 * Runs one event loop: starts its workers, then its sockets. Throws `WorkerStartError`,
 * `ListenError` or `TlsFileError`.
 */
export async function startRealtime(options: RealtimeOptions): Promise<Realtime> {
  const { config, metrics, threadContext } = options
  const { isRedisFit = () => true, isLedgerThere = () => true } = options
  const admission = createAdmission(admissionOptions(config))
  metrics.readInFlight(() => admission.inFlight)
  metrics.readAdmission(() => admission.statistics)
  const plain = createJsonCodec(options.defaults.answers)
  // Concurrently with the start of the threads: both wait if MongoDB is unavailable.
  const following = readStored(options, plain)
  following.catch(() => undefined)
  let isReady = true
  const loading = new Set<number>()
  let pool: Pool | undefined
  let stored: StoredConfiguration
  let server: HttpServer | undefined
  let diameter: DiameterService | null = null
  const clientStates = createClientStateStore(options.config, options.log)
  try {
    pool = await startWorkers(options, admission, loading, (event) => diameter?.take(event))
    stored = await following
    const takesOver = (await options.mayListen?.()) ?? false
    const isReadyNow = () => isReady && loading.size === 0 && isRedisFit() && isLedgerThere()
    const parts = partsOf(options, { pool, admission, plain, stored, isReady: isReadyNow })
    const listenPort = await (threadContext?.mayListen() ?? {
      port: config.realtime.port,
      sharing: null,
    })
    await pool.reachOthers()
    server = await openPorts(takesOver, () => startHttp(options, parts, listenPort))
    const openStates = () => clientStates.open()
    const credit = { ...options, ...parts, ...stored, backpressure: admission, openStates }
    const service = { ...credit, clock: realTimeOf(options.clock) }
    diameter = await openPorts(takesOver, () => startDiameterService(service))
  } catch (error) {
    server?.close()
    await pool?.close()
    await following.then(({ close }) => close()).catch(() => undefined)
    throw error
  }
  const { host, openTo } = config.realtime
  const isFirst = threadContext === undefined || threadContext.loop === 0
  if (isFirst && !isLoopback(host) && !mustAuthenticate(host, openTo)) {
    options.log.warn({ host, port: server.port }, OPEN)
  }
  const ticking = setInterval(() => admission.tick(monotonicMs()), TICK_MS)
  ticking.unref()
  return {
    port: server.port,
    diameterPort: diameter?.port ?? 0,
    diameterTlsPort: diameter?.tlsPort ?? 0,
    async close() {
      isReady = false
      server.stop()
      diameter?.stop()
      await stored.clientAuthenticator.idle()
      await admission.close()
      clearInterval(ticking)
      await diameter?.close()
      await threadContext?.drained()
      await pool.close()
      await Promise.all([stored.close(), clientStates.close()])
      server.close()
    },
    abandon: () => server.close(),
  }
}

/**
 * Full batches that may be in flight in addition to one per worker. Fewer would leave the ledger
 * idle, and a hundred synchronous clients would be refused whenever the machine pauses or while the
 * node warms up.
 */
const SPARE_BATCHES = 1.5

function admissionOptions(config: Config): AdmissionOptions {
  const { inFlightMax, reportsBytesMax, requestTimeoutMs: waitMsMax } = config.realtime
  const { queueMsMax, newSessionsPercent, batchSizeMax } = config.realtime
  const limitMin = Math.ceil((workersOf(config.realtime) + SPARE_BATCHES) * batchSizeMax)
  const queue = { targetMs: queueMsMax, newSessionsPercent, limitMin }
  return { inFlightMax, reportsBytesMax, waitMsMax, queue }
}

function startWorkers(
  { config, log, metrics, clock, threadContext, workerFile, buildWorker }: RealtimeOptions,
  admission: Admission,
  /** Contains the workers that have not read the catalogue yet. */
  loading: Set<number>,
  onSessionEvent: (event: SessionEvent) => void,
): Promise<Pool> {
  const { batchSizeMax, batchesInFlightMax, requestTimeoutMs } = config.realtime
  const inline = isInline(config.realtime) ? buildWorker : undefined
  const workers = workersOf(config.realtime)
  log.info({ workers, workerKind: inline === undefined ? 'thread' : 'inline' }, 'workers start')
  const { ahead } = clock
  return startPool({
    buildInline: inline && ((emit) => inline({ config, worker: 0, ahead }, emit)),
    endsIfHanging: inline !== undefined,
    workerFile: workerFile ?? new URL('../workers/main.js', import.meta.url),
    // Worker 0 of a node has duties that no other worker has.
    workerData: (worker): RealtimeWorkerData => ({ config, worker, ahead }),
    workers,
    shared: threadContext,
    batchSizeMax,
    batchesInFlightMax,
    requestTimeoutMs,
    log,
    onBatch: metrics.batch,
    onLookup: () => admission.beginLookup(monotonicMs()),
    onDropped: (cause) => metrics.dropped(cause, 1),
    onStats: metrics.workerCounts,
    onEvent: (event) => {
      if (event.kind === 'skipped') metrics.catalogueSkipped(event)
      else if (event.kind === 'customerSystem') metrics.customerSystem(event)
      else if (event.kind !== 'catalogue') onSessionEvent(event)
      else if (event.isLoaded) loading.delete(event.worker)
      else loading.add(event.worker)
    },
  })
}

/** Configuration that operators change at run time. */
interface StoredConfiguration {
  readonly messageFormats: MessageFormats
  /** Null until read for the first time. */
  readonly peers: () => Peers | null
  readonly clientAuthenticator: ClientAuthenticator
  close(): Promise<void>
}

/** The plain format is always available, all others once they have been read. */
async function readStored(
  { config, log, clock, defaults, follow = NOTHING_STORED }: RealtimeOptions,
  plain: JsonCodec,
): Promise<StoredConfiguration> {
  const { defaultFileType: defaultName } = config.realtime
  const identity = identityOf(config)
  const messageFormats = createMessageFormats({ defaultName, plain, defaults, identity })
  let peers: Peers | null = null
  let clients: CurrentClients | null = null
  const take = (stored: CurrentStoredConfig) => {
    for (const { name, why } of messageFormats.replace(stored.fileTypes)) {
      log.error({ fileType: name, why }, 'a file type cannot be used')
    }
    peers = stored.peers
    const problem = config.diameter.enabled ? diameterProblem(config, messageFormats) : null
    if (problem !== null) log.error(problem, 'the file type of Diameter cannot be used')
  }
  const following = await follow(take, (stored) => {
    clients = stored
  })
  const open = () => openCallerStore(config, log)
  const clientAuthenticator = createClientAuthenticator({
    now: () => clients,
    open,
    clock: realTimeOf(clock),
    elapsedMs: monotonicMs,
    log,
  })
  const close = async () => {
    await Promise.all([following.close(), clientAuthenticator.close()])
  }
  return { messageFormats, peers: () => peers, clientAuthenticator, close }
}

/** Opened on first use: most nodes receive no tokens or signatures. */
async function openCallerStore({ redis }: Config, log: Logger): Promise<ClientAuthenticatorStore> {
  const connection = openRedis(redis, log)
  await connection.untilReady(redis.connectTimeoutMs)
  const keys = openExpiringKeys(connection, AUTH_KEYS)
  return { tokens: createTokens(keys).access, used: keys, close: () => connection.close() }
}

/** Opened on first use: only clients that report their state need it, as Diameter clients do. */
function createClientStateStore({ redis }: Config, log: Logger) {
  let connection: RedisConnection | null = null
  return {
    async open(): Promise<ClientStates> {
      connection ??= openRedis(redis, log)
      await connection.untilReady(redis.connectTimeoutMs)
      return openClientStates(connection)
    },
    close: async () => connection?.close(),
  }
}

function diameterProblem({ diameter: { fileType } }: Config, messageFormats: MessageFormats) {
  const format = messageFormats.find(fileType)
  if (!isMessageFormat(format)) return { fileType, why: format.why }
  return format.wire === null ? { fileType, why: 'has a parser other than diameter' } : null
}

interface Core {
  readonly pool: Pool
  readonly admission: Admission
  readonly plain: JsonCodec
  readonly stored: StoredConfiguration
  readonly isReady: () => boolean
}

/** Components that the sockets of both protocols share. */
interface Parts extends Core {
  readonly charge: Charge
  readonly rateLimits: RateLimits
}

function partsOf(
  { config, log, metrics, clock, rules = NO_RULES, threadContext }: RealtimeOptions,
  core: Core,
): Parts {
  const { admission, pool } = core
  const { servicesMax } = config.realtime
  const { eventAgeMsMax, eventFutureMsMax } = config.rating
  // Event times without an offset are UTC, regardless of the time zones of node and tariffs.
  const times = { eventAgeMsMax, eventFutureMsMax, zone: 'UTC' }
  const limits = { servicesMax, ...times, ...rules }
  const charge = createCharge({ limits, admission, pool, clock, metrics, log })
  return { ...core, charge, rateLimits: createRateLimits(processMs, threadContext?.rates) }
}

function startHttp(
  { config, log, metrics }: RealtimeOptions,
  { plain, stored, charge, rateLimits, isReady }: Parts,
  { port, sharing }: ListenPort,
): Promise<HttpServer> {
  const { host, openTo, httpServer, tls, connectionsMax, bodyBytesMax } = config.realtime
  return startHttpServer({
    host,
    port,
    sharing,
    tls: tls.enabled ? tls : null,
    httpServer,
    connectionsMax,
    log,
    bodyBytesMax,
    authenticator: createAuthenticator({
      checks: [createKeyCheck(stored.peers)],
      certificates: stored.peers,
      mustAuthenticate: mustAuthenticate(host, openTo),
      isForThisMachine: openTo === 'loopback',
      rateLimits,
      clientAuthenticator: stored.clientAuthenticator,
    }),
    messageFormats: stored.messageFormats,
    charge,
    encodeRefusal: plain.encodeRefusal,
    metrics,
    isReady,
  })
}
