/** The figures of one process that live samples need, from its published metrics. */
import type { MetricValues } from '../../runtime/fast-histogram.ts'
import type { MetricsSnapshot } from '../../runtime/metrics.ts'

export interface ProcessFigures {
  /** Identifies the process: node and role. */
  readonly name: string
  readonly role: string
  /** When the process read its metrics, in ms by its own monotonic clock; null if unknown. */
  readonly takenMs: number | null
  /** Values that only grow, by key; labels that are not needed are added up. */
  readonly counters: ReadonlyMap<string, number>
  readonly gauges: ReadonlyMap<string, readonly GaugeValue[]>
}

export interface GaugeValue {
  readonly labels: Labels
  readonly value: number
}

type Labels = Readonly<Partial<Record<string, string | number>>>

/** Key of a counter by its labels; null if the value is not needed. */
type KeyOf = (labels: Labels, metricName: string) => string | null

const always = (key: string): KeyOf => {
  return () => key
}

export const BUCKET = 'bucket.'
export const FILE_TYPE = 'file_types.'

const COUNTERS: Readonly<Record<string, KeyOf>> = {
  tollgate_requests_total: ({ outcome }) => `requests.${outcome}`,
  tollgate_peer_requests_total: ({ file_type: fileType, outcome }) =>
    `${FILE_TYPE}${fileType}.${outcome}`,
  tollgate_request_duration_seconds: ({ le }) => (le === undefined ? null : `${BUCKET}${le}`),
  tollgate_reservations_total: always('reservations'),
  tollgate_overload_refused_total: always('overload.refused'),
  tollgate_requests_dropped_total: always('overload.dropped'),
  tollgate_commits_total: always('workers.commits'),
  tollgate_commit_conflicts_total: always('workers.conflicts'),
  tollgate_turns_waited_total: always('workers.waits'),
  tollgate_ledger_loads_total: always('workers.loads'),
  tollgate_batch_size: (_, metricName) => {
    if (metricName.endsWith('_sum')) return 'batch.requests'
    return metricName.endsWith('_count') ? 'batch.batches' : null
  },
  tollgate_loop_busy_seconds_total: always('loops.busy'),
  tollgate_entries_recorded_total: always('recorder.recorded'),
  tollgate_diameter_messages_total: ({ direction }) => `diameter.messages_${direction}`,
  tollgate_profiles_damaged_total: always('profiles_damaged'),
  tollgate_entries_unreadable_total: always('entries_unreadable'),
  tollgate_notifications_total: ({ outcome }) => (outcome === 'dead' ? 'events_dead' : null),
  tollgate_tls_reloads_total: ({ result }) => (result === 'failed' ? 'tls_failed' : null),
}

/** Counted twice: all refusals, and those that may be attacks. */
const REFUSED = 'tollgate_requests_refused_total'
const SUSPECT_CAUSES: ReadonlySet<unknown> = new Set(['credentials', 'address'])

const GAUGES: ReadonlySet<string> = new Set([
  'tollgate_in_flight',
  'tollgate_admission_limit',
  'tollgate_reports_waiting',
  'tollgate_open_sessions',
  'tollgate_stream_backlog_entries',
  'tollgate_stream_backlog_ratio',
  'tollgate_stream_oldest_entry_seconds',
  'tollgate_stream_drain_seconds',
  'tollgate_diameter_sessions',
  'tollgate_diameter_connections',
  'tollgate_diameter_server_requests_pending',
  'tollgate_notifications_pending',
  'tollgate_notifications_oldest_pending_seconds',
  'tollgate_notification_circuit',
  'tollgate_redis_cannot_write',
  'tollgate_catalogue_skipped',
  'tollgate_customer_circuit',
  'tollgate_cycle_paused',
  'tollgate_tls_certificate_expiry_timestamp_seconds',
])

/** Number of event loops of the process. */
export const LOOPS = 'loops'

export function figuresOf({ node, role, takenMs, metrics }: MetricsSnapshot): ProcessFigures {
  const counters = new Map<string, number>()
  const gauges = new Map<string, readonly GaugeValue[]>()
  for (const metric of metrics) {
    if (GAUGES.has(metric.name)) gauges.set(metric.name, metric.values)
    else addCounters(metric, counters)
    if (metric.name === 'tollgate_loop_busy_seconds_total') {
      gauges.set(LOOPS, [{ labels: {}, value: metric.values.length }])
    }
  }
  return { name: `${node} ${role}`, role, takenMs: takenMs ?? null, counters, gauges }
}

function addCounters({ name, values }: MetricValues, counters: Map<string, number>): void {
  const add = (key: string, value: number) => counters.set(key, (counters.get(key) ?? 0) + value)
  const keyOf = COUNTERS[name]
  for (const { labels, value, metricName = '' } of values) {
    if (name === REFUSED) {
      add('requests.refused', value)
      if (SUSPECT_CAUSES.has(labels['cause'])) add('refused_suspect', value)
      continue
    }
    const key = keyOf?.(labels, metricName) ?? null
    if (key !== null) add(key, value)
  }
}
