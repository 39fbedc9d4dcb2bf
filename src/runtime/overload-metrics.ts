import { Counter, Gauge, type Registry } from 'prom-client'

/** State of the admission gate. Refusals are counted since the start. */
export type AdmissionStatistics = {
  /** Limit of requests in flight, excluding those that wait for MongoDB. */
  readonly limit: number
  /** Expected duration of a new request by the last measurement, ms. */
  readonly delayMs: number
  /** Usage reports and terminations that wait for admission. */
  readonly waiting: number
  /** Memory of the waiting and in-flight ones, bytes. */
  readonly reportsBytes: number
  /** Starts and events refused in favour of open sessions. */
  readonly refusedNew: number
  /** Refused because too many were in flight to be answered in time. */
  readonly refusedQueue: number
  /** Refused because the memory for requests was exhausted or the node was shutting down. */
  readonly refusedInFlight: number
  /** Reports and terminations refused because there was no memory for waiting. */
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

/** Why an admitted request was not charged. */
export type DropCause =
  /** It had already been answered as timed out. */
  | 'late'
  /** Its client had disconnected. */
  | 'gone'

export type OverloadMetrics = {
  /** Sets the callback that returns the state of the admission gate. */
  readAdmission(read: () => AdmissionStatistics): void
  /** Counts admitted requests that were dropped before they were processed. */
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
    help: 'Expected duration of a new request, by the last measurement',
    registers,
    // Across event loops the maximum, not the sum.
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
    help: 'Admitted requests that were dropped before they were processed, by cause',
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
