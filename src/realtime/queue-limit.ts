/** How many requests may be under way so that none waits long: measured, not configured. */

export interface QueueLimitOptions {
  /** How long requests may be under way while others are refused, on average, ms. */
  readonly targetMs: number
  /** Batches that a worker has under way: they wait for each other. */
  readonly batchesInFlightMax: number
  /** So many are always allowed: fewer would leave the workers idle. */
  readonly limitMin: number
  readonly limitMax: number
}

/** Share of the newest window in the rate. */
const RATE_SHARE = 0.3
/** Share of a time of the idle node that is longer than what is remembered. */
const IDLE_SHARE = 1 / 16
/** A full batch takes so much longer than one of an idle node. */
const BATCH_SLACK = 1.5
/** While nobody is refused the limit grows by its own size in this time. */
const RELAX_MS = 1_000
/** Targets without any answer after which nothing more is taken. */
const STALL_TARGETS = 2

/**
 * By Little's law requests are under way for as long as their number divided by the rate of their
 * answers. So the rate is measured over windows of half the target, and while there are too many
 * the limit is what is answered within the target. The rate of a busy node does not depend on how
 * many wait, which is why the limit stands still instead of swinging. All times are ms of one clock
 * that never goes back; nothing is allocated.
 */
export class QueueLimit {
  /** Requests that may be under way, with fractions. */
  limit: number
  /** How long the request that came last would take, ms, by the last window. */
  delayMs = 0
  readonly #options: QueueLimitOptions
  readonly #windowMs: number
  readonly #stallMs: number
  #sinceMs = 0
  #answers = 0
  #hasRefused = false
  /** Answers per ms of a busy node; 0: not measured yet. */
  #rate = 0
  /** What a request takes that finds the node idle, ms; 0: not measured yet. */
  #idleMs = 0
  /** When the one came that found it idle and is not answered; -1: there is none. */
  #aloneMs = -1
  #relaxedMs = 0

  constructor(options: QueueLimitOptions) {
    this.#options = options
    this.#windowMs = options.targetMs / 2
    this.#stallMs = options.targetMs * STALL_TARGETS
    this.limit = options.limitMax
  }

  /** A request is taken; `inFlight` without it. */
  taken(inFlight: number, nowMs: number): void {
    if (inFlight === 0) {
      // Nothing is said of a rate by the time before.
      this.#begin(nowMs)
      this.#aloneMs = nowMs
      this.#relax(nowMs)
    } else if (nowMs - this.#sinceMs > this.#stallMs) {
      // Windows end with an answer, so that there has been none for a while.
      this.limit = Math.min(this.limit, Math.max(inFlight, this.#options.limitMin))
    }
  }

  /** One is refused because of the limit. */
  refused(): void {
    this.#hasRefused = true
  }

  /** One has been answered; `inFlight` with it. */
  answered(inFlight: number, nowMs: number): void {
    if (this.#aloneMs >= 0) this.#learnIdle(nowMs - this.#aloneMs)
    this.#answers += 1
    const isOver = nowMs - this.#sinceMs >= this.#windowMs
    // Short times of work between idle ones are windows where somebody was refused.
    if (isOver || (inFlight <= 1 && this.#hasRefused)) this.#adapt(inFlight, nowMs)
    if (inFlight <= 1) this.delayMs = 0
  }

  /** One waits for something else from now on, or is given up: no answer of the queue's. */
  left(): void {
    this.#aloneMs = -1
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs
    this.#answers = 0
  }

  #adapt(inFlight: number, nowMs: number): void {
    const { targetMs, batchesInFlightMax, limitMin, limitMax } = this.#options
    const rate = this.#answers / Math.max(nowMs - this.#sinceMs, LEAST_MS)
    this.delayMs = inFlight / rate
    const isBusy = this.#hasRefused || this.delayMs > this.#windowMs
    // Who is asked little answers little, and could answer more.
    if (isBusy || rate > this.#rate) this.#learnRate(rate)
    // Where an idle node is slow, fewer requests would not be faster, only fewer.
    const allowedMs = Math.max(targetMs, this.#idleMs * batchesInFlightMax * BATCH_SLACK)
    if (this.#hasRefused || this.delayMs > allowedMs) {
      this.limit = Math.min(limitMax, Math.max(limitMin, this.#rate * allowedMs))
      this.#relaxedMs = nowMs
    } else this.#relax(nowMs)
    this.#hasRefused = false
    this.#begin(nowMs)
  }

  #learnRate(rate: number): void {
    this.#rate += (rate - this.#rate) * (this.#rate === 0 ? 1 : RATE_SHARE)
  }

  #relax(nowMs: number): void {
    const grown = this.limit * (1 + (nowMs - this.#relaxedMs) / RELAX_MS)
    this.limit = Math.min(this.#options.limitMax, grown)
    this.#relaxedMs = nowMs
  }

  #learnIdle(tookMs: number): void {
    const isLess = this.#idleMs === 0 || tookMs < this.#idleMs
    this.#idleMs += (tookMs - this.#idleMs) * (isLess ? 1 : IDLE_SHARE)
    this.#aloneMs = -1
  }
}

/** All answers of a window may come within one tick of a clock. */
const LEAST_MS = 0.1
