import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { createAdminMetrics } from './admin-metrics.ts'
import { monotonicMs } from './clock.ts'
import { type CustomerMetrics, createCustomerMetrics } from './customer-metrics.ts'
import { type CycleMetrics, createCycleMetrics } from './cycle-metrics.ts'
import { createDiameterMetrics, type DiameterMetrics } from './diameter-metrics.ts'
import { createFastHistogram, type MetricValues } from './fast-histogram.ts'
import { createIntakeMetrics, type IntakeMetrics } from './intake-metrics.ts'
import { createLoopMetrics } from './loop-metrics.ts'
import { createNotificationMetrics, type NotificationMetrics } from './notification-metrics.ts'
import { createOverloadMetrics, type OverloadMetrics } from './overload-metrics.ts'
import { createRequestMetrics, type RequestMetrics } from './request-metrics.ts'
import { createStoreMetrics, type StoreMetrics } from './store-metrics.ts'
import { createTlsMetrics, type TlsMetrics } from './tls-metrics.ts'

/** Source of metrics: the node (installation on a machine) and the role of the process. */
export type MetricsSource = { readonly node: string; readonly role: string }

/** Metrics of one process as JSON, for the process that serves Prometheus. */
export type MetricsSnapshot = MetricsSource & {
  /** When it was taken, by the monotonic clock of the process; other releases do not send it. */
  readonly takenMs?: number
  readonly metrics: readonly MetricValues[]
}

/** Increments of the workers' counters; missing ones are 0. */
export type WorkerCounts = {
  /** Account batches sent to Redis, including those that it refused. */
  readonly commits?: number
  /** Commits refused because the account had changed in between. */
  readonly conflicts?: number
  /** Owners that were read because they were not cached. */
  readonly loads?: number
  /** Pauses because an account was busy with another worker. */
  readonly busy?: number
  /** Reserved grants, one per service. */
  readonly reservations?: number
  /** Requests that were not decided because they had already been answered as timed out. */
  readonly late?: number
  /** Requests that failed because a stored subscriber or account cannot be used. */
  readonly damaged?: number
}

/** Skipped entities: the number by collection, and the first ones by name. */
export type SkippedEntities = {
  readonly catalogueSkipped: Readonly<Record<string, number>>
  readonly entities: readonly Readonly<Record<SkippedLabel, string>>[]
}

const SKIPPED_LABELS = ['collection', 'name', 'path', 'reason'] as const
export type SkippedLabel = (typeof SKIPPED_LABELS)[number]

/** Interval of samples of the event loop's delay; each wakes an idle process. */
const LOOP_SAMPLE_MS = 50

/** Longest label value. */
const LABEL_LENGTH_MAX = 200

export const SKIPPED = 'tollgate_catalogue_skipped'
export const SKIPPED_ENTITY = 'tollgate_catalogue_skipped_entity'

export type Metrics = RequestMetrics &
  OverloadMetrics &
  CustomerMetrics &
  CycleMetrics &
  IntakeMetrics &
  NotificationMetrics &
  StoreMetrics & {
    /** Records the size of a batch sent to a worker. */
    batch(size: number): void
    /** Adds the workers' counts since their last report. */
    workerCounts(counts: WorkerCounts): void
    /** Sets the catalogue documents that are skipped because they cannot be used. */
    catalogueSkipped(skipped: SkippedEntities): void
    /** Sets the callback that returns the number of admitted, unanswered requests. */
    readInFlight(read: () => number): void
    /** Sets the number of stream entries that are not recorded yet. */
    streamBacklog(entries: number): void
    /** Sets the memory of the ledger's streams, and its share of what nothing else uses (0..1). */
    streamMemory(bytes: number, ratio: number): void
    /**
     * Sets the age of the oldest stream entry, and the time that the recorder needs for the backlog
     * at its current rate; both in seconds.
     */
    streamLag(ageSeconds: number, drainSeconds: number): void
    openSessions(count: number): void
    /** Sets the total debt for over-use, in the currency, and the number of owners with debt. */
    debt(owner: 'subscriber' | 'account', money: number, owners: number): void
    /** Counts ledger entries written to MongoDB. */
    entriesRecorded(count: number): void
    /** See `CountOperations` of the recorder. */
    recordOperations(operations: number, duplicates: number): void
    /** Counts ledger entries that could not be read or were rejected; they stay in their stream. */
    entriesUnreadable(count: number): void
    /** Counts expired sessions whose reservations were released. */
    sessionsExpired(count: number): void
    /** Counts a secret of a prepaid card that was wrong, or refused by a limit. */
    cardSecretRefused(reason: 'wrong' | 'limit'): void
    /** Counts documents of a collection removed by retention while a run is in progress. */
    retentionRemoved(collection: string, count: number): void
    /** Records the end of a retention run over a collection. */
    retentionEnded(collection: string, atMs: number): void
    /** Counts files of lines that were exported, and their lines. */
    linesExported(count: { files: number; lines: number }): void
    /** Sets the time until which lines were exported, by their insertion. */
    exportedUntil(atMs: number): void
    /** Counts lines that Kafka has acknowledged. */
    linesSent(count: number): void
    /** Counts an attempt to send lines to Kafka that has failed. */
    sendingFailed(): void
    /** Sets the number of lines that wait for Kafka, and the age of the oldest. */
    linesUnsent(lines: number, ageSeconds: number): void
    /** Counts audit records sent to the syslog receiver. */
    auditSent(count: number): void
    readonly diameter: DiameterMetrics
    readonly tls: TlsMetrics
    /**
     * Sets the callback that returns the metrics of additional event loops, which are added to
     * these.
     */
    readLoops(read: () => Promise<readonly MetricsSnapshot[]>): void
    snapshot(): Promise<MetricsSnapshot>
  }

const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

/**
 * The metrics of an event loop: the product's and Node's. Additional loops (`loop` above 0) omit
 * Node's metrics, which are per process.
 */
export function createMetrics(origin: MetricsSource, loop = 0): Metrics {
  const registry = new Registry()
  const registers = [registry]
  if (loop === 0) {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS })
  }
  const { duration, answered, ...requests } = createRequestMetrics(registry)
  createLoopMetrics(registry, loop, answered)
  const batchSize = createFastHistogram(
    'tollgate_batch_size',
    'Requests per batch sent to a worker',
    BATCH_BUCKETS,
  )
  const overload = createOverloadMetrics(registry)
  let readInFlight = () => 0
  let readLoops = async (): Promise<readonly MetricsSnapshot[]> => []
  new Gauge({
    name: 'tollgate_in_flight',
    help: 'Requests admitted and not yet answered',
    registers,
    collect() {
      this.set(readInFlight())
    },
  })

  return {
    ...requests,
    batch: (size) => batchSize.observe(size),
    ...createWorkerMetrics(registry, overload),
    readInFlight(read) {
      readInFlight = read
    },
    ...overload,
    ...createRecorderMetrics(registry),
    ...createStoreMetrics(registers),
    ...createAdminMetrics(registers),
    ...createCustomerMetrics(registers),
    ...createCycleMetrics(registers),
    ...createIntakeMetrics(registers),
    ...createNotificationMetrics(registers),
    diameter: createDiameterMetrics(registry),
    tls: createTlsMetrics(registry),
    readLoops(read) {
      readLoops = read
    },
    snapshot: async () => {
      const others = await readLoops()
      const takenMs = monotonicMs()
      const own = await registry.getMetricsAsJSON()
      const all = finite([...own, duration.metric(), batchSize.metric()])
      const list = others.map(({ metrics }) => metrics)
      return {
        ...origin,
        takenMs,
        metrics: others.length === 0 ? all : await sumMetrics(all, list),
      }
    },
  }
}

/** Metrics of the workers. */
function createWorkerMetrics(
  registry: Registry,
  { dropped }: Pick<OverloadMetrics, 'dropped'>,
): Pick<Metrics, 'workerCounts' | 'catalogueSkipped'> {
  const registers = [registry]
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const sent = counter('tollgate_commits_total', 'Commits of one account sent to Redis')
  const conflicting = counter(
    'tollgate_commit_conflicts_total',
    'Commits that had to be settled again because the account had changed',
  )
  const loaded = counter(
    'tollgate_ledger_loads_total',
    'Owners read from Redis because they were not in the memory of a worker',
  )
  const waited = counter(
    'tollgate_turns_waited_total',
    'Pauses of a worker because an account was busy with another worker',
  )
  const reserved = counter('tollgate_reservations_total', 'Grants of units reserved')
  const broken = counter(
    'tollgate_profiles_damaged_total',
    'Requests that failed because a stored subscriber or account cannot be used',
  )
  const skipped = new Gauge({
    name: SKIPPED,
    help: 'Documents of the catalogue that cannot be used and are left out',
    labelNames: ['collection'] as const,
    registers,
  })
  const named = new Gauge({
    name: SKIPPED_ENTITY,
    help: 'A document of the catalogue that is left out: its name, the field, and what is wrong',
    labelNames: SKIPPED_LABELS,
    registers,
  })
  return {
    catalogueSkipped({ catalogueSkipped, entities }) {
      for (const [collection, count] of Object.entries(catalogueSkipped)) {
        skipped.set({ collection }, count)
      }
      named.reset()
      for (const entity of entities) {
        const labels = SKIPPED_LABELS.map((label) => [
          label,
          entity[label].slice(0, LABEL_LENGTH_MAX),
        ])
        named.set(Object.fromEntries(labels), 1)
      }
    },
    workerCounts(counts) {
      const { commits = 0, conflicts = 0, loads = 0, busy = 0, reservations = 0 } = counts
      const { late = 0, damaged = 0 } = counts
      if (late > 0) dropped('late', late)
      broken.inc(damaged)
      reserved.inc(reservations)
      sent.inc(commits)
      conflicting.inc(conflicts)
      loaded.inc(loads)
      waited.inc(busy)
    },
  }
}

type RecorderMetrics = Pick<
  Metrics,
  | 'streamBacklog'
  | 'streamMemory'
  | 'streamLag'
  | 'openSessions'
  | 'debt'
  | 'entriesRecorded'
  | 'recordOperations'
  | 'entriesUnreadable'
  | 'sessionsExpired'
>

/** Metrics of the recorder, and of state that it reads for all processes. */
function createRecorderMetrics(registry: Registry): RecorderMetrics {
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const backlog = gauge('tollgate_stream_backlog_entries', 'Ledger entries not yet recorded')
  const memory = gauge(
    'tollgate_stream_backlog_bytes',
    'Memory that the streams of the ledger take',
  )
  const ratio = gauge(
    'tollgate_stream_backlog_ratio',
    "Part of Redis' memory that the streams take, of what nothing else uses",
  )
  const age = gauge('tollgate_stream_oldest_entry_seconds', 'Age of the oldest unrecorded entry')
  const drain = gauge(
    'tollgate_stream_drain_seconds',
    'Time to record the backlog at the rate of the last half minute',
  )
  const openSessions = gauge('tollgate_open_sessions', 'Sessions that are open')
  const byOwner = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['owner'] as const, registers })
  const debt = byOwner('tollgate_debt', 'Owed for over-use that no balance could pay, in money')
  const debtors = byOwner('tollgate_debtors', 'Subscribers or accounts that owe for over-use')
  const recorded = counter('tollgate_entries_recorded_total', 'Ledger entries recorded')
  const written = new Counter({
    name: 'tollgate_record_operations_total',
    help: 'Records that the recorder sent to MongoDB, by whether the stored one was older',
    labelNames: ['outcome'] as const,
    registers,
  })
  const unreadable = counter(
    'tollgate_entries_unreadable_total',
    'Ledger entries left in their stream because they cannot be read or recorded',
  )
  const expired = counter(
    'tollgate_sessions_expired_total',
    'Expired sessions whose reservations were released',
  )
  return {
    streamBacklog: (entries) => backlog.set(entries),
    streamMemory(bytes, share) {
      memory.set(bytes)
      ratio.set(share)
    },
    streamLag(ageSeconds, drainSeconds) {
      age.set(ageSeconds)
      drain.set(drainSeconds)
    },
    openSessions: (count) => openSessions.set(count),
    debt(owner, money, owners) {
      debt.set({ owner }, money)
      debtors.set({ owner }, owners)
    },
    entriesRecorded: (count) => recorded.inc(count),
    recordOperations(operations, duplicates) {
      written.inc({ outcome: 'written' }, operations - duplicates)
      written.inc({ outcome: 'duplicate' }, duplicates)
    },
    entriesUnreadable: (count) => unreadable.inc(count),
    sessionsExpired: (count) => expired.inc(count),
  }
}

/**
 * Merges the snapshots of several processes to one Prometheus text: each value gets the labels
 * `node` and `role` of its process; nothing is summed. Of two snapshots with the same node and
 * role, the first is used.
 */
export async function mergeSnapshots(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  const labelled = snapshots.map(({ node, role, metrics }) =>
    metrics.map((metric) => ({
      ...metric,
      aggregator: 'first' as const,
      values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, node, role } })),
    })),
  )
  return AggregatorRegistry.aggregate(labelled).metrics()
}

/** Parses a snapshot; undefined if the text is not one: another release may have sent it. */
export function parseSnapshot(text: string): MetricsSnapshot | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isSnapshot(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isSnapshot(value: unknown): value is MetricsSnapshot {
  if (typeof value !== 'object' || value === null) return false
  const { node, role, metrics } = value as Record<string, unknown>
  return typeof node === 'string' && typeof role === 'string' && Array.isArray(metrics)
    ? metrics.every((metric) => typeof metric?.name === 'string' && Array.isArray(metric.values))
    : false
}

/**
 * Removes NaN, which JSON cannot represent; Node's own metrics have it before the first
 * measurement.
 */
function finite(metrics: readonly MetricValues[]): readonly MetricValues[] {
  return metrics.map((metric) => ({
    ...metric,
    values: metric.values.filter((value) => Number.isFinite(value.value)),
  }))
}

/**
 * Combines the metrics of the threads of a process: metrics that others also have are summed (or
 * combined as their `aggregator` says); metrics that only `own` has, such as memory, are already
 * per process.
 */
async function sumMetrics(
  own: readonly MetricValues[],
  others: readonly (readonly MetricValues[])[],
): Promise<readonly MetricValues[]> {
  const shared = new Set(others.flatMap((list) => list.map(({ name }) => name)))
  const summed = AggregatorRegistry.aggregate([
    own.filter(({ name }) => shared.has(name)),
    ...others.map((list) => [...list]),
  ])
  return [...own.filter(({ name }) => !shared.has(name)), ...(await summed.getMetricsAsJSON())]
}
