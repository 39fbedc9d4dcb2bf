import { assert } from '../domain/assert.ts'
import { opens, type RequestKind } from '../domain/charge-request.ts'
import type { AdmissionFigures } from '../runtime/overload-metrics.ts'
import { QueueLimit, type QueueLimitOptions } from './queue-limit.ts'

/**
 * Decides which requests are taken: beyond what can be answered in time they are refused at once,
 * never queued. All times are ms of one clock that never goes back.
 */
export interface Admission {
  /** Takes a slot; false if it has to be refused, or the door is closed. */
  enter(kind: RequestKind, nowMs: number): boolean
  /**
   * Gives a slot back; `isAside` of one that was set aside, `isDecided` if granted or denied.
   * What failed says nothing of how fast requests are answered.
   */
  leave(nowMs: number, isAside: boolean, isDecided: boolean): void
  /** A request that has a slot waits for MongoDB, beside the others: it no longer queues. */
  setAside(): void
  /** To be called each `BEAT_MS`, so that pauses of this thread are not taken for the workers'. */
  beat(nowMs: number): void
  readonly inFlight: number
  readonly figures: AdmissionFigures
  /** Admits nobody from now on. Resolves when the last one has left. */
  close(): Promise<void>
}

export interface AdmissionOptions {
  /** Bound of all requests, those that were set aside too: bounds the memory. */
  readonly inFlightMax: number
  /** Without it only `inFlightMax` counts. */
  readonly queue?: QueueOptions
}

export interface QueueOptions extends Omit<QueueLimitOptions, 'limitMax'> {
  /** Part of the limit up to which starts and events are taken, percent. */
  readonly newSessionsPercent: number
}

export const BEAT_MS = 20

/** What ends a session is taken up to so many times the limit: it frees more than it takes. */
const RELEASES = 1.25

export function createAdmission(options: AdmissionOptions): Admission {
  return new Door(options)
}

class Door implements Admission {
  readonly #inFlightMax: number
  readonly #queue: QueueLimit | null
  readonly #newSessions: number
  #beatMs = -1
  #inFlight = 0
  #aside = 0
  #isClosed = false
  #refusedNew = 0
  #refusedQueue = 0
  #refusedInFlight = 0
  #whenEmpty: (() => void)[] = []

  constructor({ inFlightMax, queue }: AdmissionOptions) {
    this.#inFlightMax = inFlightMax
    this.#newSessions = queue === undefined ? 1 : queue.newSessionsPercent / 100
    this.#queue = queue === undefined ? null : limitOf(queue, inFlightMax)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get figures(): AdmissionFigures {
    return {
      limit: this.#queue?.limit ?? this.#inFlightMax,
      delayMs: this.#queue?.delayMs ?? 0,
      refusedNew: this.#refusedNew,
      refusedQueue: this.#refusedQueue,
      refusedInFlight: this.#refusedInFlight,
    }
  }

  enter(kind: RequestKind, nowMs: number): boolean {
    if (this.#isClosed || this.#inFlight >= this.#inFlightMax) {
      this.#refusedInFlight += 1
      return false
    }
    const queue = this.#queue
    if (queue !== null) {
      const queued = this.#inFlight - this.#aside
      if (queued >= queue.limit * this.#shareOf(kind)) {
        queue.refused()
        if (queued < queue.limit) this.#refusedNew += 1
        else this.#refusedQueue += 1
        return false
      }
      queue.taken(queued, nowMs)
    }
    this.#inFlight += 1
    return true
  }

  #shareOf(kind: RequestKind): number {
    if (opens(kind)) return this.#newSessions
    return kind === 'release' ? RELEASES : 1
  }

  leave(nowMs: number, isAside: boolean, isDecided: boolean): void {
    assert(this.#inFlight > 0, 'a slot is given back once')
    if (isAside) this.#aside -= 1
    else if (isDecided) this.#queue?.answered(this.#inFlight - this.#aside, nowMs)
    this.#inFlight -= 1
    if (this.#inFlight > 0 || this.#whenEmpty.length === 0) return
    const waiting = this.#whenEmpty
    this.#whenEmpty = []
    for (const resolve of waiting) resolve()
  }

  setAside(): void {
    this.#aside += 1
  }

  beat(nowMs: number): void {
    const lateMs = nowMs - this.#beatMs - BEAT_MS
    if (this.#beatMs >= 0 && lateMs > BEAT_MS) this.#queue?.paused(lateMs)
    this.#beatMs = nowMs
  }

  close(): Promise<void> {
    this.#isClosed = true
    if (this.#inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }
}

function limitOf(options: QueueOptions, inFlightMax: number): QueueLimit {
  const limitMin = Math.min(options.limitMin, inFlightMax)
  return new QueueLimit({ ...options, limitMin, limitMax: inFlightMax })
}
