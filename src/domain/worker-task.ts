/**
 * Tasks and events exchanged between the main thread and worker threads. Plain data: events are
 * cloned, batches are packed (worker-protocol.ts).
 */
import type { ChargeOutcome } from './charge-outcome.ts'
import type { ChargeRequest } from './charge-request.ts'

export interface WorkerTask {
  requests: ChargeRequest[]
  /**
   * True if the worker may read missing data from MongoDB. Such requests are in separate batches,
   * so that an unknown subscriber never delays a batch of cached ones.
   */
  mayLookUp: boolean
  /**
   * True if it may also wait for a customer system. Such requests are in batches of their own, so
   * that it does not delay the others.
   */
  mayAsk?: boolean
  /**
   * When the last of the requests times out, `processMs`: requests that are undecided by then are
   * skipped.
   */
  deadlineMs: number
}

export interface WorkerResult {
  /**
   * In the order of the requests; null if nothing was committed and the request has to be sent
   * again with `mayLookUp`, or with `mayAsk` if it had that already.
   */
  outcomes: (ChargeOutcome | null)[]
  /** Counts since the last batch. */
  stats: Record<string, number>
}

/** Events of workers; the first worker alone sends `SkippedEvent` and `SessionEvent`. */
export type WorkerEvent = CatalogueEvent | CustomerSystemEvent | SkippedEvent | SessionEvent

/**
 * Sent by each worker at its start, and when it has read the catalogue for the first time: until
 * then it answers that the store is down.
 */
export interface CatalogueEvent {
  kind: 'catalogue'
  worker: number
  isLoaded: boolean
}

/** Sent by each worker that asks a customer system, when its state or counts have changed. */
export interface CustomerSystemEvent {
  kind: 'customerSystem'
  worker: number
  calls: readonly {
    call: 'subscriber' | 'account'
    circuit: 'closed' | 'open' | 'half-open'
    /** Number of calls since the settings were read, by `ok` or the kind of the failure. */
    outcomes: Readonly<Record<string, number>>
  }[]
  /** Profiles that were used beyond their age. */
  stale: number
}

/** Sent at the start and after each change. */
export interface SkippedEvent {
  kind: 'skipped'
  /** Number of invalid documents of the catalogue that are left out, by collection. */
  catalogueSkipped: Record<string, number>
  /** The first of these documents. */
  entities: readonly SkippedEntity[]
}

/** An invalid document of the catalogue, and the reason. */
export interface SkippedEntity {
  collection: string
  name: string
  /** Dotted path of the field. */
  path: string
  reason: string
}

/**
 * Reasons for re-authorization or termination of open sessions. Each event may be delivered twice
 * or not at all; the validity of grants limits the effect.
 */
export type SessionEvent =
  /**
   * Credit, profile or actions of event rules changed. `sid` 0: all subscribers of the account.
   * `sessionId` of `origin`, if any: has its answer already.
   */
  | { kind: 'reauthorize'; aid: number; sid: number; origin?: string; sessionId?: string }
  /** The subscriber is closed. */
  | { kind: 'abort'; aid: number; sid: number }
  /** The catalogue changed. */
  | { kind: 'reauthorizeAll' }
  /** An operator releases the session. */
  | { kind: 'release'; origin: string; sessionId: string }
