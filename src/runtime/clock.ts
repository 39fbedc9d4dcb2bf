/** Source of the current time; tests provide their own. */
export type Clock = {
  /** Milliseconds since 1970; an integer that never decreases. */
  nowMs(): number
}

export type ClockSource = {
  /** The system clock, which may be set back. */
  readonly wallMs: () => number
  /** Monotonic milliseconds since an arbitrary instant. */
  readonly elapsedMs: () => number
}

/**
 * A clock that follows the wall clock forwards. After the wall clock was set back, it runs at half
 * speed until the wall clock has caught up: expiry continues, and time never goes backwards.
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

/** Milliseconds with fractions since an instant in this thread; for durations only. */
export function monotonicMs(): number {
  return performance.now()
}

/** Like `monotonicMs`, with the same zero in all threads of the process. */
export function processMs(): number {
  return performance.now() + THREAD_STARTED_MS
}

/** `hrtime` is the same in all threads; `performance.now` starts from zero in each thread. */
const THREAD_STARTED_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** The clock of this thread. */
export const systemClock: Clock = createClock({ wallMs: () => Date.now(), elapsedMs: monotonicMs })
