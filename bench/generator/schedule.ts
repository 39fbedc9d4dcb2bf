/**
 * Due times of an open loop, independent of earlier requests. Latency is counted from the due time,
 * so that a stalled server is charged for all requests due meanwhile.
 */

/** A phase of a load. */
export interface Phase {
  /**
   * Requests per second; 0 for a closed loop, in which each answer is followed by the next request.
   */
  perSecond: number
  seconds: number
}

export class Schedule {
  readonly #phases: readonly Phase[]
  readonly #random: (() => number) | null
  #phase = 0
  /** Start of the current phase, ms. */
  #beginMs = 0
  #nextMs = 0

  /** `random`: gaps of independent subscribers (Poisson); null for equal gaps. */
  constructor(phases: readonly Phase[], random: (() => number) | null) {
    if (phases.some(({ perSecond }) => !(perSecond > 0))) throw new Error('a rate must be positive')
    this.#phases = phases
    this.#random = random
    this.#nextMs = this.#gapMs()
    this.#advance()
  }

  /** Due time of the next request, ms since the start; infinite when all phases are over. */
  get dueMs(): number {
    return this.#nextMs
  }

  /** Index of the phase of the next request. */
  get duePhase(): number {
    return this.#phase
  }

  /** Advances to the following request. */
  take(): void {
    this.#nextMs += this.#gapMs()
    this.#advance()
  }

  #gapMs(): number {
    const { perSecond } = this.#phases[this.#phase] ?? { perSecond: 1 }
    const mean = 1000 / perSecond
    return this.#random === null ? mean : -Math.log(1 - this.#random()) * mean
  }

  /**
   * Advances to the phase of the next due request; the schedule restarts there at the rate of that
   * phase.
   */
  #advance(): void {
    for (;;) {
      const phase = this.#phases[this.#phase]
      if (phase === undefined) {
        this.#nextMs = Number.POSITIVE_INFINITY
        return
      }
      const endMs = this.#beginMs + phase.seconds * 1000
      if (this.#nextMs < endMs) return
      this.#beginMs = endMs
      this.#phase += 1
      this.#nextMs = endMs + this.#gapMs()
    }
  }
}

/** Numbers from 0 (inclusive) to 1 (exclusive), the same in each run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
