/** What the process of the load generator is told, and what it answers. Plain JSON. */
import type { PackedHistogram } from './histogram.ts'
import type { Phase } from './schedule.ts'

export type Protocol = 'json' | 'keyValue' | 'diameter'

/** One load on one port. */
export interface Flow {
  /** Flows of the same name in later jobs go on with its sessions and connections. */
  name: string
  protocol: Protocol
  port: number
  connections: number
  /** Requests under way at most; over HTTP there are as many as connections. */
  outstanding: number
  /** Index of the first subscriber, and how many there are. */
  firstSubscriber: number
  subscribers: number
  /** Sessions at the same time. */
  sessions: number
  onlyStarts?: boolean
  /** One after the other. A closed loop has one phase, with a rate of 0. */
  phases: readonly Phase[]
  /** Gaps as of independent subscribers (Poisson), or all the same. */
  gaps: 'random' | 'even'
  /** How often it looks what is due, ms: each look costs the generator some 30 µs. Default 0.2. */
  tickMs?: number
}

/** An answer that takes longer than this is late, ms. */
export const LATE_MS = 50

export interface Job {
  flows: readonly Flow[]
}

export interface PhaseResult {
  /** From its begin to its end; in a closed loop to the last answer. */
  seconds: number
  /** Requests that were due in it and have been answered. */
  answered: number
  /** Due in it, and without an answer when the patience of the generator ended. */
  unanswered: number
  admitted: number
  refused: number
  failed: number
  /** Of those: starts of sessions. */
  startsAdmitted: number
  startsRefused: number
  /** µs from when they were due (closed loop: sent). Of the admitted; then of the others. */
  latency: PackedHistogram
  refusedLatency: PackedHistogram
  /**
   * µs from when they were due to when they were sent, in two parts: until the generator had a
   * connection and a session for it, which the server's answers free; and what the generator itself
   * was late after that.
   */
  waiting: PackedHistogram
  lateness: PackedHistogram
  /** Share of one core that the process of the generator took, from begin to end of the phase. */
  generatorCore: number
  /** How many answers of each kind: HTTP status and return code, or Result-Code. */
  answers: Record<string, number>
  /** By the hundred milliseconds of the phase in which requests were due. */
  slices: Slice[]
}

/** What became of the requests of a tenth of a second. */
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
  /** Processor time of the generator while the job ran, µs, and how long that was. */
  cpuMicros: number
  seconds: number
}

/** Usage reports that were charged, of each subscriber of a flow. */
export interface Reports {
  name: string
  firstSubscriber: number
  reports: number[]
}

export type Order =
  | { type: 'run'; job: Job }
  | { type: 'reports' }
  /** Ends the sessions that are open, one after the other. */
  | { type: 'release' }

export type Report =
  | { type: 'ready' }
  | { type: 'result'; result: JobResult }
  | { type: 'reports'; flows: Reports[] }
  | { type: 'error'; message: string }
