/** A live sample: what the installation does in a second. Figures that are not known are null. */
import type { MetricsSnapshot } from '../../runtime/metrics.ts'
import type { NodeHealth } from '../health.ts'
import type { AlarmFigures } from './alarms.ts'
import { peerFigures } from './peers.ts'
import {
  BUCKET,
  FILE_TYPE,
  figuresOf,
  LOOPS,
  PEER,
  type ProcessFigures,
} from './process-figures.ts'
import type { ProcessRates, Rates } from './rates.ts'
import type { Figure, FileTypeFigures, LiveSample, PeerConnections } from './sample-schema.ts'

/** The sources of a sample. */
export interface LiveReading {
  readonly health: NodeHealth
  /** The published metrics; null while Redis is away. */
  readonly published: readonly MetricsSnapshot[] | null
  /** The metrics of this process. */
  readonly own: MetricsSnapshot
  /** Whether the recorder runs in this process. */
  readonly hasRecorder: boolean
}

/** The figures of a sample and those of its alarms. */
export interface SampleFigures {
  readonly sample: Omit<LiveSample, 'alarms'>
  readonly alarms: AlarmFigures
}

export function sampleFigures(
  { health, published, own, hasRecorder }: LiveReading,
  processRates: ProcessRates,
  nowMs: number,
): SampleFigures {
  const all = [own, ...(published ?? [])].map(figuresOf)
  const rates = processRates.update(all)
  const recorders = all.filter(
    ({ role }) => role === 'recorder' || (hasRecorder && role === 'admin'),
  )
  const realtime = new Group(
    all.filter(({ role }) => role === 'realtime'),
    rates,
  )
  const recorder = new Group(recorders, rates)
  const processes = published === null ? null : { realtime: realtime.size, recorder: recorder.size }
  const sample = {
    time: Math.floor(nowMs / 1000) * 1000,
    health,
    processes,
    ...chargingFigures(realtime),
    ...recorderFigures(recorder),
  }
  return { sample, alarms: alarmFigures(sample, new Group(all, rates), nowMs) }
}

type ChargingFigures = Omit<
  LiveSample,
  'time' | 'health' | 'processes' | 'alarms' | keyof ReturnType<typeof recorderFigures>
>

function chargingFigures(realtime: Group): ChargingFigures {
  const rate = (key: string) => realtime.rate(key)
  const batches = rate('batch.batches')
  const peers = realtime.list('tollgate_diameter_connections')
  return {
    requests: {
      granted: rate('requests.granted'),
      denied: rate('requests.denied'),
      failed: rate('requests.failed'),
      refused: rate('requests.refused'),
    },
    file_types: fileTypes(realtime),
    peers: peerFigures(realtime.rates(PEER), rounded),
    latency: latencyOf(realtime.rates(BUCKET)),
    reservations: rate('reservations'),
    load: {
      in_flight: realtime.sum('tollgate_in_flight'),
      limit: realtime.sum('tollgate_admission_limit'),
      waiting: realtime.sum('tollgate_reports_waiting'),
      refused: rate('overload.refused'),
      dropped: rate('overload.dropped'),
    },
    workers: {
      commits: rate('workers.commits'),
      conflicts: rate('workers.conflicts'),
      waits: rate('workers.waits'),
      loads: rate('workers.loads'),
      batch:
        batches === null || batches === 0 ? null : rounded((rate('batch.requests') ?? 0) / batches),
    },
    loops: { busy: busyOf(rate('loops.busy'), realtime.sum(LOOPS)) },
    diameter: {
      sessions: realtime.sum('tollgate_diameter_sessions'),
      connections: realtime.sum('tollgate_diameter_connections'),
      messages_in: rate('diameter.messages_in'),
      messages_out: rate('diameter.messages_out'),
      pending: realtime.sum('tollgate_diameter_server_requests_pending'),
      peers: connectionsOf(peers),
    },
  }
}

function recorderFigures(recorder: Group) {
  return {
    sessions: { open: recorder.max('tollgate_open_sessions') },
    recorder: {
      backlog: recorder.max('tollgate_stream_backlog_entries'),
      age_s: recorder.max('tollgate_stream_oldest_entry_seconds'),
      drain_s: recorder.max('tollgate_stream_drain_seconds'),
      recorded: recorder.rate('recorder.recorded'),
      memory: recorder.max('tollgate_stream_backlog_ratio'),
    },
    events: {
      pending: recorder.max('tollgate_notifications_pending'),
      oldest_s: recorder.max('tollgate_notifications_oldest_pending_seconds'),
    },
  }
}

function alarmFigures(
  { processes, recorder, load }: Omit<LiveSample, 'alarms'>,
  all: Group,
  nowMs: number,
): AlarmFigures {
  const max = (name: string) => all.max(name) ?? 0
  const rate = (key: string) => all.rate(key) ?? 0
  const expiries = all.list('tollgate_tls_certificate_expiry_timestamp_seconds')
  return {
    processes,
    redisCannotWrite: max('tollgate_redis_cannot_write'),
    backlogAgeSeconds: recorder.age_s,
    backlogMemory: recorder.memory,
    catalogueSkipped: max('tollgate_catalogue_skipped'),
    customerCircuit: max('tollgate_customer_circuit'),
    eventCircuit: max('tollgate_notification_circuit'),
    cyclePaused: max('tollgate_cycle_paused'),
    certificateSeconds:
      expiries.length === 0 ? null : Math.min(...expiries.map(({ value }) => value)) - nowMs / 1000,
    growth: {
      entries_unreadable: rate('entries_unreadable'),
      profiles_damaged: rate('profiles_damaged'),
      overload: load.refused ?? 0,
      refused_access: rate('refused_suspect'),
      events_dead: rate('events_dead'),
      certificate_reload: rate('tls_failed'),
    },
  }
}

/** Processes of a role. Without any, all figures are null. */
class Group {
  readonly #processes: readonly ProcessFigures[]
  readonly #rates: readonly NonNullable<Rates>[]

  constructor(processes: readonly ProcessFigures[], rates: ReadonlyMap<string, Rates>) {
    this.#processes = processes
    this.#rates = processes.flatMap(({ name }) => rates.get(name) ?? [])
  }

  get size(): number {
    return this.#processes.length
  }

  /** Sum of the rates of the processes of which one is known. */
  rate(key: string): Figure {
    if (this.#rates.length === 0) return null
    return rounded(this.#rates.reduce((sum, rates) => sum + (rates.get(key) ?? 0), 0))
  }

  /** Sums of the rates whose keys have the prefix, by the rest of the key. */
  rates(prefix: string): ReadonlyMap<string, number> {
    const sums = new Map<string, number>()
    for (const rates of this.#rates) {
      for (const [key, rate] of rates) {
        if (!key.startsWith(prefix)) continue
        const rest = key.slice(prefix.length)
        sums.set(rest, (sums.get(rest) ?? 0) + rate)
      }
    }
    return sums
  }

  /** All values of a gauge. */
  list(name: string) {
    return this.#processes.flatMap(({ gauges }) => gauges.get(name) ?? [])
  }

  sum(name: string): Figure {
    if (this.size === 0) return null
    return this.list(name).reduce((sum, { value }) => sum + value, 0)
  }

  max(name: string): Figure {
    const values = this.list(name).map(({ value }) => value)
    return values.length === 0 ? null : rounded(Math.max(...values))
  }
}

function fileTypes(realtime: Group): FileTypeFigures[] {
  const byName = new Map<string, { granted: number; denied: number; failed: number }>()
  for (const [key, rate] of realtime.rates(FILE_TYPE)) {
    const at = key.lastIndexOf('.')
    const name = key.slice(0, at)
    const figures = byName.get(name) ?? { granted: 0, denied: 0, failed: 0 }
    byName.set(name, { ...figures, [key.slice(at + 1)]: rounded(rate) })
  }
  return [...byName]
    .map(([name, figures]) => ({ name, ...figures }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** `rates`: requests per second up to each bound, in seconds; `+Inf` for all. */
export function latencyOf(rates: ReadonlyMap<string, number>): LiveSample['latency'] {
  const all = rates.get('+Inf')
  if (all === undefined) return { p50_ms: null, p99_ms: null, beyond: null }
  const bounds = [...rates]
    .flatMap(([bound, rate]) => (bound === '+Inf' ? [] : [{ ms: Number(bound) * 1000, rate }]))
    .sort((a, b) => a.ms - b.ms)
  const last = bounds.at(-1)
  const beyond = rounded(all - (last?.rate ?? 0))
  const percentile = (share: number): Figure => {
    if (all === 0) return null
    return bounds.find(({ rate }) => rate >= all * share)?.ms ?? last?.ms ?? null
  }
  return { p50_ms: percentile(0.5), p99_ms: percentile(0.99), beyond }
}

function busyOf(secondsPerSecond: Figure, loops: Figure): Figure {
  if (secondsPerSecond === null || loops === null || loops === 0) return null
  return rounded(Math.min(1, secondsPerSecond / loops))
}

function connectionsOf(
  values: readonly { labels: Readonly<Partial<Record<string, string | number>>>; value: number }[],
): PeerConnections[] {
  const byKey = new Map<string, PeerConnections>()
  for (const { labels, value } of values) {
    const peer = String(labels['peer'] ?? '')
    const state = String(labels['state'] ?? '')
    const key = `${peer} ${state}`
    byKey.set(key, { peer, state, connections: (byKey.get(key)?.connections ?? 0) + value })
  }
  return [...byKey.values()].sort((a, b) => (a.peer < b.peer ? -1 : 1))
}

/** Three decimals are enough for a plot. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

/** The numbers of a sample by their path in it, for the history; states are 1 (ok) or 0. */
export function numbersOf(sample: LiveSample): ReadonlyMap<string, Figure> {
  const { health, processes, file_types: types, alarms } = sample
  const numbers = new Map<string, Figure>()
  for (const [group, figures] of Object.entries(sample)) {
    if (typeof figures === 'number' && group !== 'time') numbers.set(group, figures)
    if (!NUMERIC.has(group)) continue
    for (const [name, value] of Object.entries(figures as object)) {
      if (value === null || typeof value === 'number') numbers.set(`${group}.${name}`, value)
    }
  }
  numbers.set('health.ready', health.status === 'ready' ? 1 : 0)
  numbers.set('health.redis', health.redis === 'ok' ? 1 : 0)
  numbers.set('health.mongo', health.mongo === 'ok' ? 1 : 0)
  numbers.set('processes.realtime', processes?.realtime ?? null)
  numbers.set('processes.recorder', processes?.recorder ?? null)
  numbers.set('reservations', sample.reservations)
  numbers.set('alarms', alarms.length)
  for (const { name, granted, denied, failed } of types) {
    numbers.set(`file_types.${name}.granted`, granted)
    numbers.set(`file_types.${name}.denied`, denied)
    numbers.set(`file_types.${name}.failed`, failed)
  }
  return numbers
}

const NUMERIC: ReadonlySet<string> = new Set([
  'requests',
  'latency',
  'sessions',
  'load',
  'workers',
  'loops',
  'recorder',
  'diameter',
  'events',
])
