import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { type Catalog, openCatalog } from '../catalog/connection.ts'
import type { Config } from '../config/schema.ts'
import { createLedger, type Ledger } from '../ledger/ledger.ts'
import { type Delivery, startDelivery } from '../notifications/delivery.ts'
import { type Clock, monotonicMs } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../store/redis.ts'
import { createCycleEnds } from './cycle-ends.ts'
import { type Drain, startDrain } from './drain.ts'
import { startDebtGauges, startGauges, startStreamGauges } from './gauges.ts'
import { createRestraint, type Restraint } from './restraint.ts'
import { startSweeper } from './sweeper.ts'

export interface RecorderOptions {
  /** Resolved addresses of both stores. */
  config: Config
  log: Logger
  metrics: Metrics
  clock: Clock
  /** See drain.ts; shorter in tests. */
  claimIdleMs?: number
}

export interface Recorder {
  /** Drains the streams, for at most `drainMs`, and stops. */
  stop(drainMs: number): Promise<void>
}

const CLAIM_IDLE_MS = 5_000
const TOKEN_MAX = 2 ** 47

/**
 * Starts the recorder: drain, sweep, delivery of events and gauges. The stores need not be
 * available; it waits for them. Throws `CatalogUrlError` for an invalid MongoDB URL.
 */
export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const { config, log, metrics, clock } = options
  const { commandTimeoutMs } = config.redis
  const { delivery, events } = await deliveryOf(options)
  const catalog = await openCatalog({ ...config.mongo, appName: 'tollgate-recorder' })
  const redis = openRedis(config.redis, log)
  const waiting = openRedis(
    { ...config.redis, commandTimeoutMs: config.recorder.blockMs + commandTimeoutMs },
    log,
  )
  // Connections in progress are not logged as an outage.
  const { connectTimeoutMs } = config.redis
  await Promise.allSettled([redis, waiting].map((one) => waitForRedis(one, connectTimeoutMs)))
  let recorded = 0
  const counting: Metrics = {
    ...metrics,
    entriesRecorded(count) {
      recorded += count
      metrics.entriesRecorded(count)
    },
  }
  const restraint = createRestraint(config.ledger.backlogWarnPercent)
  const draining = { ...options, metrics: counting, restraint }
  const drain = drainOn(ledgerOn(waiting, config), catalog, draining)
  const ledger = ledgerOn(redis, config)
  const { intervalMs, batchMax } = config.sweep
  const { replayMs } = config.ledger
  const token = String(randomInt(1, TOKEN_MAX))
  const sweep = { intervalMs, batchMax, replayMs, token }
  const sweeper = startSweeper({ ledger, log, metrics, clock, ...sweep })
  const { lagWarnMs } = config.recorder
  const common = { ledger, metrics, clock, log }
  const gauges = [
    startGauges({ ...common, lagWarnMs, recorded: () => recorded, onBacklog: restraint.observe }),
    startDebtGauges(catalog, metrics),
    ...(config.export.kafka.brokers.length > 0
      ? [startStreamGauges({ catalog, metrics, clock })]
      : []),
  ]
  return {
    async stop(drainMs) {
      await sweeper.stop()
      await Promise.all([drain.stop(drainMs), delivery.stop(Math.min(drainMs, SENDING_MS_MAX))])
      for (const gauge of gauges) gauge.stop()
      await Promise.all([redis.close(), waiting.close(), catalog.close(), events.close()])
    },
  }
}

/** How long the end waits for notifications under way. */
const SENDING_MS_MAX = 2_000

/** Has its own connections, so that it takes none of those that record. */
async function deliveryOf(
  options: RecorderOptions,
): Promise<{ delivery: Delivery; events: Catalog }> {
  const events = await openCatalog({ ...options.config.mongo, appName: 'tollgate-notifications' })
  return { delivery: startDelivery({ ...options, catalog: events }), events }
}

function drainOn(
  ledger: Ledger,
  catalog: Catalog,
  options: RecorderOptions & { restraint: Restraint },
): Drain {
  const { config, log, metrics, clock, restraint, claimIdleMs = CLAIM_IDLE_MS } = options
  const { blockMs, gatherMs, roundBytesMax, openLinesMs } = config.recorder
  return startDrain({
    ledger,
    catalog,
    log,
    metrics,
    consumer: hostname(),
    blockMs,
    gatherMs,
    roundBytesMax,
    openLinesMs,
    claimIdleMs,
    claimEveryMs: Math.max(1, Math.ceil(claimIdleMs / 2)),
    cycles: createCycleEnds(catalog, config.rating, clock, monotonicMs),
    isExporting: config.export.everyMinutes > 0,
    isStreaming: config.export.kafka.brokers.length > 0,
    restraint,
  })
}

function ledgerOn(redis: RedisConnection, config: Config): Ledger {
  return createLedger(redis, config.ledger, randomInt(1, TOKEN_MAX))
}
