import { availableParallelism } from 'node:os'
import type { AnswerSettings } from '../catalog/file-types/file-type.ts'
import { isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { createAdmission } from './admission.ts'
import { createCharge } from './charge.ts'
import type { DecodeContext } from './codecs/codec.ts'
import { createJsonCodec } from './codecs/json.ts'
import type { HttpServer } from './http/listening.ts'
import { startHttpServer } from './http/server.ts'
import { type Pool, startPool } from './pool.ts'

export interface RealtimeOptions {
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  /** What answers have by the configuration. */
  readonly answers: AnswerSettings
  /** Whether Redis is configured so that nothing is lost; taken for true if not given. */
  readonly isRedisFit?: () => boolean
  /** Whether Redis has the ledger's data, or a part of it; likewise. */
  readonly isLedgerThere?: () => boolean
  /** What the configured rules want of a request; nothing if not given. */
  readonly rules?: RequestRules
  /** Worker module; without it the one of the built product. */
  readonly workerFile?: URL
}

/** What matching and identification read of a request, by the configuration. */
export type RequestRules = Pick<DecodeContext, 'keptFields' | 'identifyingFields' | 'identifies'>

const NO_RULES: RequestRules = { keptFields: [], identifyingFields: [], identifies: () => false }

/** What a worker thread finds as its worker data. */
export interface RealtimeWorkerData {
  readonly config: Config
  /** Index of the thread, from 0. */
  readonly worker: number
}

export interface Realtime {
  /** Port that was taken. */
  readonly port: number
  /**
   * Takes no new requests, lets those under way be answered (they take `requestTimeoutMs` at most),
   * and ends sockets and threads.
   */
  close(): Promise<void>
}

/** Until network elements authenticate, all of them are one. */
const ORIGIN = 'http'

const OPEN = 'charging is open to the network, and nobody authenticates'

/** Starts the threads, then the sockets. Throws `WorkerStartError` or `ListenError`. */
export async function startRealtime(options: RealtimeOptions): Promise<Realtime> {
  const { metrics, isRedisFit = () => true, isLedgerThere = () => true } = options
  const admission = createAdmission(options.config.realtime.inFlightMax)
  metrics.readInFlight(() => admission.inFlight)
  const pool = await startWorkers(options)
  let isReady = true
  let server: HttpServer
  try {
    const canCharge = () => isReady && isRedisFit() && isLedgerThere()
    server = await startSockets(options, pool, admission, canCharge)
  } catch (error) {
    await pool.close()
    throw error
  }
  const { host } = options.config.realtime
  if (!isLoopback(host)) options.log.warn({ host, port: server.port }, OPEN)
  return {
    port: server.port,
    async close() {
      isReady = false
      server.stop()
      await admission.close()
      await pool.close()
      server.close()
    },
  }
}

function startWorkers({ config, log, metrics, workerFile }: RealtimeOptions): Promise<Pool> {
  const { workers, batchSizeMax, batchesInFlightMax, requestTimeoutMs } = config.realtime
  return startPool({
    workerFile: workerFile ?? new URL('../workers/main.js', import.meta.url),
    workerData: (worker): RealtimeWorkerData => ({ config, worker }),
    workers: workers === 0 ? Math.max(1, availableParallelism() - 1) : workers,
    batchSizeMax,
    batchesInFlightMax,
    requestTimeoutMs,
    log,
    onBatch: metrics.batch,
    onStats: metrics.workerCounts,
    onNews: ({ catalogueSkipped }) => metrics.catalogueSkipped(catalogueSkipped),
  })
}

function startSockets(
  { config, log, metrics, clock, answers, rules = NO_RULES }: RealtimeOptions,
  pool: Pool,
  admission: ReturnType<typeof createAdmission>,
  isReady: () => boolean,
): Promise<HttpServer> {
  const { host, openTo, port, httpServer, connectionsMax } = config.realtime
  const { bodyBytesMax, servicesMax } = config.realtime
  const { eventAgeMsMax, eventFutureMsMax } = config.rating
  // An event time without an offset is UTC, wherever the node and its tariffs are.
  const times = { eventAgeMsMax, eventFutureMsMax, zone: 'UTC' }
  const limits = { origin: ORIGIN, servicesMax, ...times, ...rules }
  const codec = createJsonCodec(answers)
  return startHttpServer({
    host,
    openTo,
    port,
    httpServer,
    connectionsMax,
    log,
    bodyBytesMax,
    charge: createCharge({ codec, limits, admission, pool, clock, metrics, log }),
    encodeError: (field, why) => codec.encodeError({ field, why }),
    isReady,
  })
}
