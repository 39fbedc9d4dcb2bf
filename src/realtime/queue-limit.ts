/** Adaptive limit of requests in flight, derived from the measured answer rate. */

export interface QueueLimitOptions {
  /** Average time in flight that lasting overload is limited to, ms. */
  readonly targetMs: number
  /**
   * Lower bound of the limit. A lower limit would leave the workers idle; with a slow store the
   * requests would be fewer, not faster.
   */
  readonly limitMin: number
  readonly limitMax: number
}

/** Weight of the newest window in the moving averages. */
const NEWEST_SHARE = 0.3
/** Waiting is overload if it is longer than this, and has not become shorter for as long, ms. */
const OVERLOAD_MS = 100
/**
 * Requests of this time at the peak rate are admitted without overload: those that arrive while a
 * worker or Redis pauses. A longer stall holds the limit at what is in flight. As shares of the
 * time of overload.
 */
const BURST_SHARE = 2.5
/** A gap between answers is a stall if it has this length, ms, and this multiple of the usual. */
const STALL_MS = 20
const STALL_GAPS = 4

/**
 * By Little's law the time in flight is the number of requests in flight divided by the answer
 * rate, which is measured over windows of half the target. A pause of any part leaves a queue that
 * becomes shorter once answers flow again; above the peak it does not. So the limit is that of a
 * burst until waiting has stood for a while (as in CoDel), then what is answered within the target
 * until the queue has been short. All times are ms of one monotonic clock; nothing is allocated.
 */
export class QueueLimit {
  /** Limit of requests in flight, fractional; and the one that holds under lasting overload. */
  limit: number
  overloadLimit: number
  /** Expected time in flight of the last request, ms, by the last window. */
  delayMs = 0
  readonly #options: QueueLimitOptions
  readonly #windowMs: number
  readonly #overloadMs: number
  readonly #burstMs: number
  #sinceMs = 0
  #answers = 0
  #hasRefused = false
  /** A window that did not begin idle may begin within the answers of a batch. */
  #isFromIdle = false
  /** Answers per ms of a busy node, and the highest of any window; 0 until measured. */
  #rate = 0
  #peak = 0
  #answeredMs = 0
  /** The longest gap between answers in this window, and the usual one of a window. */
  #gapMs = 0
  #usualGapMs = 0
  /** Time without an answer, without pauses of this thread; and the limit during a stall. */
  #silentMs = 0
  #held = Number.POSITIVE_INFINITY
  #isOverloaded = false
  /** The time since which waiting has not become shorter than this. */
  #standingMs = 0
  #leastMs = Number.POSITIVE_INFINITY

  constructor(options: QueueLimitOptions) {
    this.#options = options
    this.#windowMs = options.targetMs / 2
    this.#overloadMs = Math.max(OVERLOAD_MS, options.targetMs)
    this.#burstMs = this.#overloadMs * BURST_SHARE
    this.limit = options.limitMax
    this.overloadLimit = options.limitMax
  }

  /** Answers per ms of a busy node; estimated from the limit until measured. */
  get rate(): number {
    return this.#rate === 0 ? this.limit / this.#options.targetMs : this.#rate
  }

  /** A request is admitted; `inFlight` does not include it. */
  admitted(inFlight: number, nowMs: number): void {
    // The idle time before says nothing about the rate.
    if (inFlight === 0) this.#beginBusy(nowMs)
  }

  /** A request is refused because of the limit. */
  refused(): void {
    this.#hasRefused = true
  }

  /** This thread has run for `forMs` since the last call; called regularly. */
  ran(forMs: number, inFlight: number): void {
    if (inFlight === 0) {
      this.#silentMs = 0
      if (this.#held <= this.#options.limitMax) this.#resume()
      return
    }
    this.#silentMs += forMs
    if (this.#silentMs <= this.#burstMs || this.#held <= this.#options.limitMax) return
    this.#held = inFlight
    this.#setLimit()
  }

  /** A request has been answered; `inFlight` includes it. */
  answered(inFlight: number, nowMs: number): void {
    this.#answers += 1
    this.#gapMs = Math.max(this.#gapMs, nowMs - this.#answeredMs)
    this.#answeredMs = nowMs
    this.#silentMs = 0
    const isLast = inFlight <= 1
    if (isLast || nowMs - this.#sinceMs >= this.#windowMs) this.#adapt(inFlight, nowMs)
    if (isLast) {
      this.delayMs = 0
      this.#isOverloaded = false
    }
    if (isLast || this.#held <= this.#options.limitMax) this.#resume()
  }

  #beginBusy(nowMs: number): void {
    this.#answeredMs = nowMs
    this.#silentMs = 0
    this.#standAfresh(nowMs)
    this.#begin(nowMs)
    this.#isFromIdle = true
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs
    this.#answers = 0
    this.#gapMs = 0
    this.#hasRefused = false
    this.#isFromIdle = false
  }

  /** Ends a stall. */
  #resume(): void {
    this.#held = Number.POSITIVE_INFINITY
    this.#setLimit()
  }

  #adapt(inFlight: number, nowMs: number): void {
    if (this.#isStalled()) this.#standDuringStall()
    else this.#measure(inFlight, nowMs)
    this.#begin(nowMs)
    this.#setLimit()
  }

  /** Long gaps that are usual are no stalls: a store may be slow at all times. */
  #isStalled(): boolean {
    const stallMs = Math.max(STALL_MS, this.#usualGapMs * STALL_GAPS)
    const sampleMs = Math.min(this.#gapMs, stallMs)
    this.#usualGapMs += (sampleMs - this.#usualGapMs) * NEWEST_SHARE
    return this.#gapMs > stallMs
  }

  #measure(inFlight: number, nowMs: number): void {
    const elapsedMs = nowMs - this.#sinceMs
    const rate = this.#answers / Math.max(elapsedMs, WINDOW_MS_MIN)
    const isWhole = elapsedMs >= (this.#isFromIdle ? PEAK_MS_MIN : this.#windowMs)
    if (isWhole) this.#peak = Math.max(this.#peak, rate)
    // A short busy period between idle ones counts as a window only if requests were refused.
    if (elapsedMs < this.#windowMs && !this.#hasRefused) return
    this.delayMs = inFlight / rate
    const isBusy = this.#hasRefused || this.delayMs > this.#windowMs
    // At low load a low rate only reflects the demand, so only an increase is learned.
    if (isBusy || rate > this.#rate) this.#learnRate(rate)
    const waitMs = inFlight / this.#rate
    if (waitMs <= this.#windowMs && !this.#hasRefused) this.#isOverloaded = false
    if (waitMs <= this.#overloadMs) this.#standAfresh(nowMs)
    else if (waitMs < this.#leastMs) {
      this.#leastMs = waitMs
      this.#standingMs = nowMs
    } else if (nowMs - this.#standingMs > this.#overloadMs) this.#isOverloaded = true
  }

  #standAfresh(nowMs: number): void {
    this.#standingMs = nowMs
    this.#leastMs = Number.POSITIVE_INFINITY
  }

  /**
   * A stall is no time in which waiting could have become shorter, and lengthens it by its own
   * length at most, unless more arrive than can be answered.
   */
  #standDuringStall(): void {
    this.#standingMs += this.#gapMs
    this.#leastMs += this.#gapMs
  }

  #learnRate(rate: number): void {
    this.#rate += (rate - this.#rate) * (this.#rate === 0 ? 1 : NEWEST_SHARE)
  }

  #setLimit(): void {
    const { targetMs, limitMin, limitMax } = this.#options
    const within = (limit: number) => Math.min(limitMax, Math.max(limitMin, limit))
    this.overloadLimit = this.#rate > 0 ? within(this.#rate * targetMs) : limitMax
    const burst = this.#peak > 0 ? within(this.#peak * this.#burstMs) : limitMax
    const limit = this.#isOverloaded ? this.overloadLimit : burst
    this.limit = Math.min(limit, Math.max(limitMin, this.#held))
  }
}

/** All answers of a window may arrive within one clock tick; such a one shows no peak. */
const WINDOW_MS_MIN = 0.1
const PEAK_MS_MIN = 1
