/** How many requests may be under way so that none waits long: measured, not configured. */

export interface QueueLimitOptions {
  /** How long requests may be under way while others are refused, on average, ms. */
  readonly targetMs: number
  /**
   * So many are always allowed: fewer would leave the workers idle, and where the store is slow
   * they would not be faster, only fewer.
   */
  readonly limitMin: number
  readonly limitMax: number
}

/** Share of the newest window in the rate. */
const RATE_SHARE = 0.3
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
  #relaxedMs = 0

  constructor(options: QueueLimitOptions) {
    this.#options = options
    this.#windowMs = options.targetMs / 2
    this.#stallMs = options.targetMs * STALL_TARGETS
    this.limit = options.limitMax
  }

  /** Answers per ms of a node that is busy, as far as that is known. */
  get rate(): number {
    return this.#rate === 0 ? this.limit / this.#options.targetMs : this.#rate
  }

  /** A request is taken; `inFlight` without it. */
  admitted(inFlight: number, nowMs: number): void {
    if (inFlight === 0) {
      // Nothing is said of a rate by the time before.
      this.#begin(nowMs)
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

  /** This thread stood still for so long: it says nothing of the workers that nothing was heard. */
  paused(forMs: number): void {
    this.#sinceMs += forMs
  }

  /** One has been answered; `inFlight` with it. */
  answered(inFlight: number, nowMs: number): void {
    this.#answers += 1
    const isOver = nowMs - this.#sinceMs >= this.#windowMs
    // Short times of work between idle ones are windows where somebody was refused.
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
    // Who is asked little answers little, and could answer more.
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

/** All answers of a window may come within one tick of a clock. */
const WINDOW_MS_MIN = 0.1
