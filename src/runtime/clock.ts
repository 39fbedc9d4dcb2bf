/** Where a component takes the time from; tests hand in one that they set. */
export type Clock = {
  /** Milliseconds since 1970, whole, and never less than the last answer. */
  nowMs(): number
}

export type ClockSource = {
  /** The machine's wall clock, which may be set back. */
  readonly wallMs: () => number
  /** Milliseconds since any fixed moment, which cannot be set. */
  readonly elapsedMs: () => number
}

/**
 * A clock that follows the wall clock forwards, and when that is set back runs on at half speed
 * until the wall clock has caught up: expiry goes on, and nothing happens before its cause.
 */
export function createClock(source: ClockSource): Clock {
  let lastMs = source.wallMs()
  let lastElapsedMs = source.elapsedMs()
  return {
    nowMs() {
      const elapsedMs = source.elapsedMs()
      lastMs = Math.max(source.wallMs(), lastMs + (elapsedMs - lastElapsedMs) / 2)
      lastElapsedMs = elapsedMs
      return Math.floor(lastMs)
    },
  }
}

/** Milliseconds, with fractions, since some moment of this thread: for durations only. */
export function monotonicMs(): number {
  return performance.now()
}

/** As `monotonicMs`, but all threads of the process count from the same moment. */
export function processMs(): number {
  return performance.now() + THREAD_STARTED_MS
}

/** The time of `hrtime` is that of the machine; `performance.now` begins anew in each thread. */
const THREAD_STARTED_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** The clock of this thread. */
export const systemClock: Clock = createClock({ wallMs: () => Date.now(), elapsedMs: monotonicMs })
