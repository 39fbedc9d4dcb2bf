/** Adaptive limit of requests in flight, derived from the measured answer rate. */

export interface QueueLimitOptions {
  /** Target of the average time in flight while requests are refused, ms. */
  readonly targetMs: number
  /**
   * Lower bound of the limit. A lower limit would leave the workers idle; with a slow store the
   * requests would be fewer, not faster.
   */
  readonly limitMin: number
  readonly limitMax: number
}

/** Weight of the newest window in the moving average of the rate. */
const RATE_SHARE = 0.3
/** While no request is refused, the limit doubles in this time. */
const RELAX_MS = 1_000
/** Number of target times without an answer after which no more requests are admitted. */
const STALL_TARGETS = 2

/**
 * By Little's law the time in flight is the number of requests in flight divided by the answer
 * rate. The rate is measured over windows of half the target; while too many requests are in
 * flight, the limit is the number answered within the target. The rate of a busy node does not
 * depend on the queue length, so the limit is stable instead of oscillating. All times are ms of
 * one monotonic clock; nothing is allocated.
 */
export class QueueLimit {
  /** Limit of requests in flight, fractional. */
  limit: number
  /** Expected time in flight of the last request, ms, by the last window. */
  delayMs = 0
  readonly #options: QueueLimitOptions
  readonly #windowMs: number
  readonly #stallMs: number
  #sinceMs = 0
  #answers = 0
  #hasRefused = false
  /** Answers per ms of a busy node; 0 until measured. */
  #rate = 0
  #relaxedMs = 0

  constructor(options: QueueLimitOptions) {
    this.#options = options
    this.#windowMs = options.targetMs / 2
    this.#stallMs = options.targetMs * STALL_TARGETS
    this.limit = options.limitMax
  }

  /** Answers per ms of a busy node; estimated from the limit until measured. */
  get rate(): number {
    return this.#rate === 0 ? this.limit / this.#options.targetMs : this.#rate
  }

  /** A request is admitted; `inFlight` does not include it. */
  admitted(inFlight: number, nowMs: number): void {
    if (inFlight === 0) {
      // The idle time before says nothing about the rate.
      this.#begin(nowMs)
      this.#relax(nowMs)
    } else if (nowMs - this.#sinceMs > this.#stallMs) {
      // A window ends with an answer, so an overdue window means that no answer has come for a
      // while.
      this.limit = Math.min(this.limit, Math.max(inFlight, this.#options.limitMin))
    }
  }

  /** A request is refused because of the limit. */
  refused(): void {
    this.#hasRefused = true
  }

  /**
   * This thread was blocked for `forMs`: missing answers in that time say nothing about the
   * workers.
   */
  paused(forMs: number): void {
    this.#sinceMs += forMs
  }

  /** A request has been answered; `inFlight` includes it. */
  answered(inFlight: number, nowMs: number): void {
    this.#answers += 1
    const isOver = nowMs - this.#sinceMs >= this.#windowMs
    // If requests were refused, a short busy period between idle ones counts as a window.
    if (isOver || (inFlight <= 1 && this.#hasRefused)) this.#adapt(inFlight, nowMs)
    if (inFlight <= 1) this.delayMs = 0
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs
    this.#answers = 0
  }

  #adapt(inFlight: number, nowMs: number): void {
    const { targetMs, limitMin, limitMax } = this.#options
    const rate = this.#answers / Math.max(nowMs - this.#sinceMs, WINDOW_MS_MIN)
    this.delayMs = inFlight / rate
    const isBusy = this.#hasRefused || this.delayMs > this.#windowMs
    // At low load a low rate only reflects the demand, so only an increase is learned.
    if (isBusy || rate > this.#rate) this.#learnRate(rate)
    if (this.#hasRefused || this.delayMs > targetMs) {
      this.limit = Math.min(limitMax, Math.max(limitMin, this.#rate * targetMs))
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
}

/** All answers of a window may arrive within one clock tick. */
const WINDOW_MS_MIN = 0.1
