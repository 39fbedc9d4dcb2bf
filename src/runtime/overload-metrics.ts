import { Counter, Gauge, type Registry } from 'prom-client'

/** How it is decided which requests are admitted. Refusals are counted since the start. */
export type AdmissionStatistics = {
  /** Requests that may be under way, without those that wait for MongoDB. */
  readonly limit: number
  /** How long a request takes that comes now, by the last measurement, ms. */
  readonly delayMs: number
  /** Reports of usage and terminations that wait to be admitted. */
  readonly waiting: number
  /** What those take that wait or are under way, bytes. */
  readonly reportsBytes: number
  /** Starts and events, while open sessions were served. */
  readonly refusedNew: number
  /** Because too many were under way to be answered in time. */
  readonly refusedQueue: number
  /** Because the memory for requests was used up, or the node was ending. */
  readonly refusedInFlight: number
  /** Reports and terminations, because there was no memory to let them wait. */
  readonly refusedMemory: number
  /** Reports and terminations that waited too long. */
  readonly refusedLate: number
}

const NO_ADMISSION: AdmissionStatistics = {
  limit: 0,
  delayMs: 0,
  waiting: 0,
  reportsBytes: 0,
  refusedNew: 0,
  refusedQueue: 0,
  refusedInFlight: 0,
  refusedMemory: 0,
  refusedLate: 0,
}

/** Why a request that was admitted was not charged. */
export type DropCause =
  /** It had been answered that it took too long. */
  | 'late'
  /** The connection on which it came had ended. */
  | 'gone'

export type OverloadMetrics = {
  /** Where to read how it is decided which requests are admitted. */
  readAdmission(read: () => AdmissionStatistics): void
  /** So many requests were admitted, but nobody waited for them when their turn came. */
  dropped(cause: DropCause, count: number): void
}

export function createOverloadMetrics(registry: Registry): OverloadMetrics {
  const registers = [registry]
  let read = () => NO_ADMISSION
  new Gauge({
    name: 'tollgate_admission_limit',
    help: 'Requests that may be under way before others are refused',
    registers,
    collect() {
      this.set(Math.floor(read().limit))
    },
  })
  new Gauge({
    name: 'tollgate_admission_delay_seconds',
    help: 'Time that a request takes which comes now, by the last measurement',
    registers,
    // Of several event loops the slowest, not the sum.
    aggregator: 'max',
    collect() {
      this.set(read().delayMs / 1000)
    },
  })
  new Gauge({
    name: 'tollgate_reports_waiting',
    help: 'Reports of usage and terminations that wait because too many requests are under way',
    registers,
    collect() {
      this.set(read().waiting)
    },
  })
  new Gauge({
    name: 'tollgate_reports_bytes',
    help: 'Memory of the reports of usage and terminations that wait or are under way',
    registers,
    collect() {
      this.set(read().reportsBytes)
    },
  })
  new Counter({
    name: 'tollgate_overload_refused_total',
    help: 'Requests refused because there were too many, by cause',
    labelNames: ['cause'] as const,
    registers,
    collect() {
      const { refusedNew, refusedQueue, refusedInFlight, refusedMemory, refusedLate } = read()
      this.reset()
      this.inc({ cause: 'new' }, refusedNew)
      this.inc({ cause: 'queue' }, refusedQueue)
      this.inc({ cause: 'in_flight' }, refusedInFlight)
      this.inc({ cause: 'memory' }, refusedMemory)
      this.inc({ cause: 'waited' }, refusedLate)
    },
  })
  const dropped = new Counter({
    name: 'tollgate_requests_dropped_total',
    help: 'Requests not charged because nobody waited for them when their turn came, by cause',
    labelNames: ['cause'] as const,
    registers,
  })
  return {
    readAdmission(from) {
      read = from
    },
    dropped: (cause, count) => dropped.inc({ cause }, count),
  }
}
