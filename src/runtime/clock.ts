/** Source of the current time; tests provide their own. */
export type Clock = {
  /** Milliseconds since 1970; an integer that never decreases. */
  nowMs(): number
  /** Offset of a clock that differs from the system clock. */
  readonly ahead?: ClockOffset
}

/** Milliseconds ahead of the system clock, as one 64-bit integer that all threads share. */
export type ClockOffset = SharedArrayBuffer

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

/** Milliseconds for which the event loop of this thread has worked since its start. */
export function loopActiveMs(): number {
  return performance.eventLoopUtilization().active
}

/** Like `monotonicMs`, with the same zero in all threads of the process. */
export function processMs(): number {
  return performance.now() + THREAD_STARTED_MS
}

/** `hrtime` is the same in all threads; `performance.now` starts from zero in each thread. */
const THREAD_STARTED_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** The clock of this thread. */
export const systemClock: Clock = createClock({ wallMs: () => Date.now(), elapsedMs: monotonicMs })

/** `aheadMs` is an integer, negative for a clock that is behind. */
export function createOffset(aheadMs: number): ClockOffset {
  const offset = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)
  Atomics.store(new BigInt64Array(offset), 0, BigInt(aheadMs))
  return offset
}

export function offsetMs(offset: ClockOffset): number {
  return Number(Atomics.load(new BigInt64Array(offset), 0))
}

/** Sets the offset unless it is greater already: a clock never goes back. */
export function raiseOffset(offset: ClockOffset, aheadMs: number): void {
  const cell = new BigInt64Array(offset)
  const target = BigInt(aheadMs)
  for (;;) {
    const current = Atomics.load(cell, 0)
    if (current >= target || Atomics.compareExchange(cell, 0, current, target) === current) return
  }
}

/** The system clock of this thread, or one that is ahead of it by a shared offset. */
export function clockWith(offset: ClockOffset | undefined, real: Clock = systemClock): Clock {
  if (offset === undefined) return real
  const cell = new BigInt64Array(offset)
  return { ahead: offset, nowMs: () => real.nowMs() + Number(Atomics.load(cell, 0)) }
}

/**
 * The clock for what must not follow a test clock: leases and time-outs between processes, logins,
 * tokens, signatures.
 */
export function realTimeOf(clock: Clock): Clock {
  return clock.ahead === undefined ? clock : systemClock
}
