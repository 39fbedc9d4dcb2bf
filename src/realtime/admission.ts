import { assert } from '../domain/assert.ts'
import type { AdmissionStatistics } from '../runtime/overload-metrics.ts'
import { isReport, type LoadClass } from './load-class.ts'
import { QueueLimit, type QueueLimitOptions } from './queue-limit.ts'
import {
  type AdmissionCandidate,
  type QueueName,
  ReportQueue,
  type WaitingRequest,
} from './report-queue.ts'

/**
 * Decision on a request. A request that `waits` has to be passed to `wait`; `noMemory`: a report is
 * refused because the memory for waiting reports is used up.
 */
export type AdmissionResult = 'admitted' | 'waits' | 'refused' | 'noMemory'

/**
 * Decides which requests are admitted. Above the load that can be answered in time, requests that
 * open sessions or only request units are refused immediately; usage reports and terminations wait.
 * All times are ms of one monotonic clock.
 */
export interface Admission {
  /** Occupies a slot, unless the request has to wait or is refused. */
  acquire(candidate: AdmissionCandidate, nowMs: number): AdmissionResult
  /** Queues a request until a slot is free, for at most `waitMsMax`. */
  wait(waiting: WaitingRequest, nowMs: number): void
  /**
   * Frees a slot. `isLookup`: `beginLookup` was called for the request. `isDecided`: it was granted
   * or denied; the duration of a failed request is not a measure of the answer rate.
   */
  release(candidate: AdmissionCandidate, nowMs: number, isLookup: boolean, isDecided: boolean): void
  /** A request that has a slot waits for a MongoDB lookup: it no longer counts as queued. */
  beginLookup(nowMs: number): void
  /** Must be called every `TICK_MS`: ends waits that have timed out and detects stalls. */
  tick(nowMs: number): void
  readonly inFlight: number
  readonly statistics: AdmissionStatistics
  /** Whether the backlog is so large that senders that can hold requests back should do so. */
  readonly isBehind: boolean
  /** Calls `resume` once, when the backlog has shrunk. */
  onCaughtUp(resume: () => void): void
  /**
   * Admits no further requests. Resolves when the last request has been answered, including waiting
   * ones.
   */
  close(): Promise<void>
}

export interface AdmissionOptions {
  /** Limit of requests that are not reports, including those that wait for a lookup. */
  readonly inFlightMax: number
  /** Limit of reports and terminations that wait or are in flight, in bytes. */
  readonly reportsBytesMax: number
  /** Longest wait of a report or termination. */
  readonly waitMsMax: number
  /** Without it only `inFlightMax` applies. */
  readonly queue?: QueueOptions
}

export interface QueueOptions extends Omit<QueueLimitOptions, 'limitMax'> {
  /** Part of the limit available to starts and events, percent. */
  readonly newSessionsPercent: number
}

export const TICK_MS = 20

/**
 * Memory per request in addition to its message: the decoded request and the values that its answer
 * repeats.
 */
export const REQUEST_BYTES = 2_048

/**
 * Terminations may use this part of the limit under lasting overload regardless of other load, and
 * no more: a mass release must not delay other requests.
 */
const TERMINATIONS_SHARE = 0.5
/** Senders that can hold requests back do so once this share of the time or memory is used. */
const BACKPRESSURE_SHARE = 0.5

const WAITED = 'waited too long (realtime.requestTimeoutMs); nothing was charged'

export function createAdmission(options: AdmissionOptions): Admission {
  return new AdmissionGate(options)
}

class AdmissionGate implements Admission {
  readonly #options: AdmissionOptions
  readonly #queue: QueueLimit | null
  readonly #newSessions: number
  readonly #reports: ReportQueue
  #reportsBytes = 0
  #inFlight = 0
  #terminations = 0
  #lookups = 0
  #isClosed = false
  #refusedNew = 0
  #refusedQueue = 0
  #refusedInFlight = 0
  #refusedMemory = 0
  #refusedLate = 0
  #whenEmpty: (() => void)[] = []
  #whenCaughtUp: (() => void)[] = []

  constructor(options: AdmissionOptions) {
    const { inFlightMax, queue, waitMsMax } = options
    this.#options = options
    this.#newSessions = queue === undefined ? 1 : queue.newSessionsPercent / 100
    this.#queue = queue === undefined ? null : limitOf(queue, inFlightMax)
    this.#reports = new ReportQueue(waitMsMax)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get statistics(): AdmissionStatistics {
    return {
      limit: this.#limit,
      delayMs: this.#queue?.delayMs ?? 0,
      waiting: this.#reports.size,
      reportsBytes: this.#reportsBytes,
      refusedNew: this.#refusedNew,
      refusedQueue: this.#refusedQueue,
      refusedInFlight: this.#refusedInFlight,
      refusedMemory: this.#refusedMemory,
      refusedLate: this.#refusedLate,
    }
  }

  get isBehind(): boolean {
    const { reportsBytesMax, waitMsMax } = this.#options
    if (this.#reports.size === 0) return false
    if (this.#reportsBytes > reportsBytesMax * BACKPRESSURE_SHARE) return true
    const rate = this.#queue?.rate ?? Number.POSITIVE_INFINITY
    return this.#reports.expectedMs(rate * TERMINATIONS_SHARE) > waitMsMax * BACKPRESSURE_SHARE
  }

  onCaughtUp(resume: () => void): void {
    this.#whenCaughtUp.push(resume)
  }

  acquire(candidate: AdmissionCandidate, nowMs: number): AdmissionResult {
    if (this.#isClosed) {
      this.#refusedInFlight += 1
      return 'refused'
    }
    return isReport(candidate.load)
      ? this.#acquireReport(candidate, nowMs)
      : this.#acquireOther(candidate, nowMs)
  }

  #acquireReport({ load, request, bytes }: AdmissionCandidate, nowMs: number): AdmissionResult {
    const size = bytes + REQUEST_BYTES
    // A request larger than the whole limit is accepted if it is the only one.
    if (this.#reportsBytes > 0 && this.#reportsBytes + size > this.#options.reportsBytesMax) {
      this.#refusedMemory += 1
      return 'noMemory'
    }
    this.#reportsBytes += size
    const queue = load === 'termination' ? load : 'report'
    const isNext = this.#reports.first(queue) === undefined && !this.#reports.has(request)
    if (isNext && this.#hasRoom(load)) {
      this.#admit(load, nowMs)
      return 'admitted'
    }
    this.#queue?.refused()
    return 'waits'
  }

  #acquireOther({ load, request }: AdmissionCandidate, nowMs: number): AdmissionResult {
    if (this.#inFlight >= this.#options.inFlightMax) {
      this.#refusedInFlight += 1
      return 'refused'
    }
    // A waiting request of the same session must not be overtaken.
    if (!this.#hasRoom(load) || this.#reports.reports > 0 || this.#reports.has(request)) {
      this.#queue?.refused()
      const isServed = this.#inFlight - this.#lookups < this.#limit
      if (load === 'opening' && isServed) this.#refusedNew += 1
      else this.#refusedQueue += 1
      return 'refused'
    }
    this.#admit(load, nowMs)
    return 'admitted'
  }

  wait(waiting: WaitingRequest, nowMs: number): void {
    this.#reports.add(waiting, nowMs)
  }

  release(
    { load, bytes }: AdmissionCandidate,
    nowMs: number,
    isLookup: boolean,
    isDecided: boolean,
  ): void {
    assert(this.#inFlight > 0, 'a slot is given back once')
    if (isLookup) this.#lookups -= 1
    else if (isDecided) this.#queue?.answered(this.#inFlight - this.#lookups, nowMs)
    this.#inFlight -= 1
    if (load === 'termination') this.#terminations -= 1
    if (isReport(load)) this.#reportsBytes -= bytes + REQUEST_BYTES
    this.#admitWaiting(nowMs)
  }

  beginLookup(nowMs: number): void {
    this.#lookups += 1
    this.#admitWaiting(nowMs)
  }

  tick(nowMs: number): void {
    // A late tick counts as one: in a pause of this thread no answer could be taken.
    this.#queue?.ran(TICK_MS, this.#inFlight - this.#lookups)
    for (const waiting of this.#reports.takeExpired(nowMs)) {
      this.#refusedLate += 1
      this.#reportsBytes -= waiting.bytes + REQUEST_BYTES
      waiting.refused(WAITED)
    }
    this.#admitWaiting(nowMs)
  }

  close(): Promise<void> {
    this.#isClosed = true
    if (this.#isEmpty) return Promise.resolve()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }

  get #limit(): number {
    return this.#queue?.limit ?? this.#options.inFlightMax
  }

  get #terminationsMax(): number {
    const limit = this.#queue?.overloadLimit ?? this.#options.inFlightMax
    return Math.min(limit, this.#limit) * TERMINATIONS_SHARE
  }

  get #isEmpty(): boolean {
    return this.#inFlight === 0 && this.#reports.size === 0
  }

  #hasRoom(load: LoadClass): boolean {
    if (load === 'termination') return this.#terminations < this.#terminationsMax
    const queued = this.#inFlight - this.#lookups
    return queued < this.#limit * (load === 'opening' ? this.#newSessions : 1)
  }

  #admit(load: LoadClass, nowMs: number): void {
    this.#queue?.admitted(this.#inFlight - this.#lookups, nowMs)
    this.#inFlight += 1
    if (load === 'termination') this.#terminations += 1
  }

  /**
   * Admits waiting requests while there is room, and notifies callers of `onCaughtUp` and `close`.
   */
  #admitWaiting(nowMs: number): void {
    if (this.#reports.size > 0) {
      this.#drain('report', nowMs)
      this.#drain('termination', nowMs)
    }
    if (this.#whenCaughtUp.length > 0 && !this.isBehind) callAll(this.#whenCaughtUp.splice(0))
    if (this.#whenEmpty.length > 0 && this.#isEmpty) callAll(this.#whenEmpty.splice(0))
  }

  #drain(queue: QueueName, nowMs: number): void {
    while (this.#reports.first(queue) !== undefined && this.#hasRoom(queue)) {
      const waiting = this.#reports.takeFirst(queue)
      this.#admit(waiting.load, nowMs)
      waiting.admitted()
    }
  }
}

function callAll(callbacks: readonly (() => void)[]): void {
  for (const callback of callbacks) callback()
}

function limitOf(options: QueueOptions, inFlightMax: number): QueueLimit {
  const limitMin = Math.min(options.limitMin, inFlightMax)
  return new QueueLimit({ ...options, limitMin, limitMax: inFlightMax })
}
