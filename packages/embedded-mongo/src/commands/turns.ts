/** Turns between commands: an aggregation gives way to the others. */
import { setTimeout as delay } from 'node:timers/promises'

/** Work of an aggregation before other commands may run, in milliseconds. */
const TURN_MS = 3
/** While others arrive, it waits for so many times its own work. */
const WAIT_FACTOR = 3
const WAIT_MS_MAX = 30

export class Turns {
  /** Commands that have begun since the start. */
  #begun = 0

  /** A command begins. */
  begin(): void {
    this.#begun += 1
  }

  /** The first turn of an aggregation. */
  start(): Turn {
    return new Turn(() => this.#begun)
  }
}

/** The present turn of one aggregation. */
export class Turn {
  readonly #begun: () => number
  #startedMs: number
  #seen: number

  constructor(begun: () => number) {
    this.#begun = begun
    this.#startedMs = performance.now()
    this.#seen = begun()
  }

  /**
   * Called between two steps of the read. Resolves when it is its turn again, false if the present
   * one is not over.
   */
  async pass(): Promise<boolean> {
    const workedMs = performance.now() - this.#startedMs
    if (workedMs < TURN_MS) return false
    await new Promise(setImmediate)
    const isBusy = this.#begun() !== this.#seen
    if (isBusy) await delay(Math.min(WAIT_MS_MAX, workedMs * WAIT_FACTOR))
    this.#seen = this.#begun()
    this.#startedMs = performance.now()
    return true
  }
}
