/** Messages to and from the process of the load generator. Plain JSON. */
import type { PackedHistogram } from './histogram.ts'
import type { Phase } from './schedule.ts'

export type Protocol = 'json' | 'keyValue' | 'diameter'

/** One load on one port. */
export interface Flow {
  /** Flows of the same name in later jobs continue with its sessions and connections. */
  name: string
  protocol: Protocol
  port: number
  connections: number
  /** Maximum number of requests under way; over HTTP this is the number of connections. */
  outstanding: number
  /** Index of the first subscriber, and number of subscribers. */
  firstSubscriber: number
  subscribers: number
  /** Concurrent sessions. */
  sessions: number
  onlyStarts?: boolean
  /** In sequence. A closed loop has one phase, with a rate of 0. */
  phases: readonly Phase[]
  /** Gaps of independent subscribers (Poisson), or equal gaps. */
  gaps: 'random' | 'even'
  /**
   * Interval between checks for due requests, ms; each check costs the generator some 30 µs.
   * Default 0.2.
   */
  tickMs?: number
}

/** An answer that takes longer than this is late, ms. */
export const LATE_MS = 50

export interface Job {
  flows: readonly Flow[]
}

export interface PhaseResult {
  /** From begin to end; in a closed loop until the last answer. */
  seconds: number
  /** Requests that were due in this phase and have been answered. */
  answered: number
  /** Due in this phase, but not answered within the waiting time of the generator. */
  unanswered: number
  admitted: number
  refused: number
  failed: number
  /** Admitted starts of sessions. */
  startsAdmitted: number
  startsRefused: number
  /**
   * µs since the due time (closed loop: since sending), of admitted requests; then of the others.
   */
  latency: PackedHistogram
  refusedLatency: PackedHistogram
  /**
   * µs from due time to sending, in two parts: the wait for a free connection and session, which
   * depends on the server's answers, and the delay of the generator itself after that.
   */
  waiting: PackedHistogram
  lateness: PackedHistogram
  /** Share of one core that the process of the generator used during the phase. */
  generatorCore: number
  /** Number of answers by HTTP status and return code, or Result-Code. */
  answers: Record<string, number>
  /** By due time, in steps of a hundred milliseconds. */
  slices: Slice[]
}

/** Outcomes of the requests due in a tenth of a second. */
export interface Slice {
  refused: number
  /** Admitted, and answered after more than `LATE_MS`. */
  late: number
  inTime: number
}

export interface FlowResult {
  name: string
  phases: PhaseResult[]
}

export interface JobResult {
  flows: FlowResult[]
  /** Processor time of the generator while the job ran, and the duration of the job, µs. */
  cpuMicros: number
  seconds: number
}

/** Charged usage reports of each subscriber of a flow. */
export interface Reports {
  name: string
  firstSubscriber: number
  reports: number[]
}

export type Order =
  | { type: 'run'; job: Job }
  | { type: 'reports' }
  /** Releases the open sessions one after the other. */
  | { type: 'release' }

export type Report =
  | { type: 'ready' }
  | { type: 'result'; result: JobResult }
  | { type: 'reports'; flows: Reports[] }
  | { type: 'error'; message: string }
