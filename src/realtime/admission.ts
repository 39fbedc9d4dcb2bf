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
 * What becomes of a request; one that `waits` has to be handed to `wait`. `noMemory`: a report is
 * refused, because there is no memory left to let it wait.
 */
export type AdmissionResult = 'admitted' | 'waits' | 'refused' | 'noMemory'

/**
 * Decides which requests are admitted: beyond what can be answered in time, what opens sessions or
 * only asks for units is refused at once; reports of usage and terminations wait. All times are ms
 * of one clock that never goes back.
 */
export interface Admission {
  /** Takes a slot, unless the request has to wait or is refused. */
  acquire(entrant: AdmissionCandidate, nowMs: number): AdmissionResult
  /** Keeps a request until it has a slot, `waitMsMax` at most. */
  wait(waiter: WaitingRequest, nowMs: number): void
  /**
   * Gives a slot back; `isAside` of one that was set aside, `isDecided` if granted or denied.
   * What failed says nothing of how fast requests are answered.
   */
  release(entrant: AdmissionCandidate, nowMs: number, isAside: boolean, isDecided: boolean): void
  /** A request that has a slot waits for MongoDB, beside the others: it no longer queues. */
  beginLookup(nowMs: number): void
  /** To be called each `BEAT_MS`: ends waits, and notes pauses of this thread. */
  tick(nowMs: number): void
  readonly inFlight: number
  readonly statistics: AdmissionStatistics
  /** Whether so much waits that who can hold further requests back should. */
  readonly isBehind: boolean
  /** Calls back once, when the node is no longer behind. */
  onCaughtUp(resume: () => void): void
  /** Admits nobody new. Resolves when the last one has left, those that wait included. */
  close(): Promise<void>
}

export interface AdmissionOptions {
  /** Bound of all requests that are no reports, those that were set aside too. */
  readonly inFlightMax: number
  /** Bound of the reports and terminations that wait or are under way, by their bytes. */
  readonly reportsBytesMax: number
  /** How long one of them may wait. */
  readonly waitMsMax: number
  /** Without it only `inFlightMax` counts. */
  readonly queue?: QueueOptions
}

export interface QueueOptions extends Omit<QueueLimitOptions, 'limitMax'> {
  /** Part of the limit up to which starts and events are taken, percent. */
  readonly newSessionsPercent: number
}

export const TICK_MS = 20

/** What a request takes in memory beside its message: decoded, with what its answer repeats. */
export const REQUEST_BYTES = 2_048

/**
 * Terminations may take this part of the limit, whatever else is under way, and no more: a mass
 * release goes on beside the others, who do not wait for it.
 */
const TERMINATIONS_SHARE = 0.5
/** Who can hold requests back does so while half of the time or half of the memory is used up. */
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
  #tickMs = -1
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

  acquire(entrant: AdmissionCandidate, nowMs: number): AdmissionResult {
    if (this.#isClosed) {
      this.#refusedInFlight += 1
      return 'refused'
    }
    return isReport(entrant.load)
      ? this.#acquireReport(entrant, nowMs)
      : this.#acquireOther(entrant, nowMs)
  }

  #acquireReport({ load, request, bytes }: AdmissionCandidate, nowMs: number): AdmissionResult {
    const size = bytes + REQUEST_BYTES
    // One that is larger than all of the memory is taken while it is the only one.
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
    // What waits of its session must not be overtaken.
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

  wait(waiter: WaitingRequest, nowMs: number): void {
    this.#reports.add(waiter, nowMs)
  }

  release(
    { load, bytes }: AdmissionCandidate,
    nowMs: number,
    isAside: boolean,
    isDecided: boolean,
  ): void {
    assert(this.#inFlight > 0, 'a slot is given back once')
    if (isAside) this.#lookups -= 1
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
    const lateMs = nowMs - this.#tickMs - TICK_MS
    if (this.#tickMs >= 0 && lateMs > TICK_MS) this.#queue?.paused(lateMs)
    this.#tickMs = nowMs
    for (const waiter of this.#reports.takeExpired(nowMs)) {
      this.#refusedLate += 1
      this.#reportsBytes -= waiter.bytes + REQUEST_BYTES
      waiter.refused(WAITED)
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

  get #isEmpty(): boolean {
    return this.#inFlight === 0 && this.#reports.size === 0
  }

  #hasRoom(load: LoadClass): boolean {
    if (load === 'termination') return this.#terminations < this.#limit * TERMINATIONS_SHARE
    const queued = this.#inFlight - this.#lookups
    return queued < this.#limit * (load === 'opening' ? this.#newSessions : 1)
  }

  #admit(load: LoadClass, nowMs: number): void {
    this.#queue?.admitted(this.#inFlight - this.#lookups, nowMs)
    this.#inFlight += 1
    if (load === 'termination') this.#terminations += 1
  }

  /** Admits those that wait as far as there is room, and tells who waits for that. */
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
      const waiter = this.#reports.takeFirst(queue)
      this.#admit(waiter.load, nowMs)
      waiter.admitted()
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
