/**
 * The contract between the socket thread and the worker threads. Plain data: news is cloned,
 * batches are packed (hand-over.ts).
 */
import type { ChargeOutcome } from './charge-outcome.ts'
import type { ChargeRequest } from './charge-request.ts'

export interface WorkerTask {
  requests: ChargeRequest[]
  /**
   * True: the worker may ask MongoDB for what it has not in memory. Such requests travel apart, so
   * that one unknown subscriber never delays a batch of known ones.
   */
  mayLookUp: boolean
  /**
   * When the last of the requests has been answered that it took too long, `processMs`: what is not
   * decided by then need not be.
   */
  deadlineMs: number
}

export interface WorkerResult {
  /** In the order of the requests; null: nothing moved, send it again with `mayLookUp`. */
  outcomes: (ChargeOutcome | null)[]
  /** Counters to be added up. */
  stats: Record<string, number>
}

/** What the first worker tells unasked. */
export type WorkerEvent = SkippedEvent | SessionEvent

/** Told whenever it changes. */
export interface SkippedEvent {
  kind: 'skipped'
  /** Documents of the catalogue that cannot be used and are left out, by collection. */
  catalogueSkipped: Record<string, number>
  /** The first of them. */
  entities: readonly SkippedEntity[]
}

/** A document of the catalogue that cannot be used, and why. */
export interface SkippedEntity {
  collection: string
  name: string
  /** Dotted path of the field. */
  path: string
  reason: string
}

/**
 * Why network elements should ask again for open sessions, or end them. Each may come twice, or not
 * at all: what a session has is bounded by its validity.
 */
export type SessionEvent =
  /** Credit or profile changed. `sid` 0: all subscribers of the account. */
  | { kind: 'reauthorize'; aid: number; sid: number }
  /** The subscriber is closed. */
  | { kind: 'abort'; aid: number; sid: number }
  /** The catalogue is another one. */
  | { kind: 'reauthorizeAll' }
  /** An operator wants it to end. */
  | { kind: 'release'; origin: string; sessionId: string }
