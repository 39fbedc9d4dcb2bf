/** Periodic metrics that no single process can count, read from the stores. */
import type { Catalog } from '../catalog/connection.ts'
import { DEBT_BUCKET_ID } from '../catalog/records/usage/balance-document.ts'
import { moneyOf } from '../catalog/records/usage/money-value.ts'
import { type Backlog, backlogPercent, readBacklog, Threshold } from '../ledger/backlog.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { oldestEntryMs, openSessions, streamBacklog } from '../ledger/streams.ts'
import { type Clock, monotonicMs, realTimeOf } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'

const REFRESH_MS = 1_000
/** From MongoDB: debts are summed over all debtors. */
const SLOW_REFRESH_MS = 10_000

export interface Gauges {
  stop(): void
}

export interface GaugeOptions {
  ledger: Ledger
  metrics: Pick<Metrics, 'streamBacklog' | 'streamMemory' | 'streamLag' | 'openSessions'>
  clock: Clock
  log: Pick<Logger, 'warn' | 'info'>
  /** Stream entries recorded since the start. */
  recorded: () => number
  /** Age of the oldest entry from which a warning is logged. */
  lagWarnMs: number
  onBacklog: (backlog: Backlog) => void
}

/** From Redis, once a second. */
export function startGauges(options: GaugeOptions): Gauges {
  const { ledger, metrics, clock, log, recorded, lagWarnMs, onBacklog } = options
  const rate = new DrainRate()
  const warning = new Threshold(lagWarnMs, lagWarnMs / 2)
  const refresh = async () => {
    if (!ledger.redis.isReady()) return
    const [entries, memory, open, oldestMs] = await Promise.all([
      streamBacklog(ledger),
      readBacklog(ledger),
      openSessions(ledger),
      oldestEntryMs(ledger),
    ])
    const ageMs = oldestMs === null ? 0 : Math.max(0, realTimeOf(clock).nowMs() - oldestMs)
    const drainSeconds = rate.secondsFor(entries, recorded(), monotonicMs())
    metrics.streamLag(ageMs / 1_000, drainSeconds)
    if (warning.update(ageMs)) {
      const lag = { entries, ageSeconds: Math.round(ageMs / 1_000), drainSeconds }
      if (warning.isExceeded) log.warn(lag, 'backlog: entries wait longer than recorder.lagWarnMs')
      else log.info(lag, 'backlog: entries wait no longer than recorder.lagWarnMs')
    }
    metrics.streamBacklog(entries)
    onBacklog(memory)
    metrics.streamMemory(memory.streamBytes, backlogPercent(memory) / 100)
    metrics.openSessions(open)
  }
  // If Redis is unavailable the last values stay; the outage is reported elsewhere.
  const timer = setInterval(() => refresh().catch(() => undefined), REFRESH_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

const RATE_SAMPLES = 30
/** A day, for a recorder that records nothing. */
const DRAIN_SECONDS_MAX = 86_400

/** The rate of the recorder over the last samples. */
export class DrainRate {
  readonly #samples: { recorded: number; atMs: number }[] = []

  /**
   * Seconds that the recorder needs for a backlog, at most a day. `recorded`: entries since its
   * start.
   */
  secondsFor(entries: number, recorded: number, atMs: number): number {
    this.#samples.push({ recorded, atMs })
    if (this.#samples.length > RATE_SAMPLES) this.#samples.shift()
    if (entries === 0) return 0
    const first = this.#samples[0] ?? { recorded, atMs }
    const perSecond = ((recorded - first.recorded) * 1_000) / (atMs - first.atMs)
    if (!(perSecond > 0)) return DRAIN_SECONDS_MAX
    return Math.min(DRAIN_SECONDS_MAX, Math.round(entries / perSecond))
  }
}

/** Debt for over-use, from the projection. */
export function startDebtGauges(catalog: Catalog, metrics: Pick<Metrics, 'debt'>): Gauges {
  return refreshed(async () => {
    for (const [owner, sid] of DEBTORS) {
      const { micros, owners } = await debtWhere(catalog, { sid })
      metrics.debt(owner, moneyOf(micros), owners)
    }
  })
}

/** Lines that wait to be sent: whether a process that sends them runs or not. */
export function startStreamGauges({
  catalog,
  metrics,
  clock,
}: {
  catalog: Pick<Catalog, 'exportstream'>
  metrics: Pick<Metrics, 'linesUnsent'>
  clock: Clock
}): Gauges {
  return refreshed(async () => {
    const [oldest] = await catalog.exportstream.find().sort({ _id: 1 }).limit(1).toArray()
    const sinceMs = oldest?._id.getTimestamp().getTime()
    const ageMs = sinceMs === undefined ? 0 : realTimeOf(clock).nowMs() - sinceMs
    const lines = await catalog.exportstream.estimatedDocumentCount()
    metrics.linesUnsent(lines, Math.max(0, ageMs) / 1_000)
  })
}

/** Now, and every ten seconds. If MongoDB is unavailable the last values stay. */
function refreshed(refresh: () => Promise<void>): Gauges {
  const attempt = () => refresh().catch(() => undefined)
  void attempt()
  const timer = setInterval(attempt, SLOW_REFRESH_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

const DEBTORS = [
  ['account', 0],
  ['subscriber', { $gt: 0 }],
] as const

/** Sum and number of outstanding debts. */
export async function debtWhere(
  catalog: Catalog,
  filter: object,
): Promise<{ micros: number; owners: number }> {
  const pipeline = [
    { $match: { bucket_id: DEBT_BUCKET_ID, spent: { $gt: 0 }, ...filter } },
    { $group: { _id: null, micros: { $sum: '$spent' }, owners: { $sum: 1 } } },
  ]
  const [sums] = await catalog.balances
    .aggregate<{ micros: number; owners: number }>(pipeline)
    .toArray()
  return sums ?? { micros: 0, owners: 0 }
}
