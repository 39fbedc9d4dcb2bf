/**
 * How many events of a receiver are claimed at once, while it is fast: those that it has taken
 * lately within `HELD_MS`. So few events wait for a receiver that becomes slow, and the claims of a
 * fast one are few.
 */
export const HELD_MS = 250
const SIZE_MAX = 250
/** Shorter times say little about the pace. */
const MEASURED_MS_MIN = 50

export class ClaimSize {
  readonly #elapsedMs: () => number
  #size = 1
  #taken = 0
  #sinceMs: number

  /** `elapsedMs`: monotonic, ms. */
  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs
    this.#sinceMs = elapsedMs()
  }

  /** To be called for each event that the receiver has taken. */
  taken(): void {
    this.#taken += 1
  }

  /** From 1. It at most doubles with each measurement. */
  now(): number {
    const nowMs = this.#elapsedMs()
    const measuredMs = nowMs - this.#sinceMs
    if (measuredMs < MEASURED_MS_MIN) return this.#size
    const held = Math.floor((this.#taken / measuredMs) * HELD_MS)
    this.#size = Math.max(1, Math.min(held, this.#size * 2, SIZE_MAX))
    this.#taken = 0
    this.#sinceMs = nowMs
    return this.#size
  }
}
