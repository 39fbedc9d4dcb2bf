/** The clock of the browser: for durations and ages only, as it may be wrong. */

/** Milliseconds since the page was opened; never runs backwards. */
export function elapsedMs(): number {
  return performance.now()
}

/** Time of the browser, ms. */
export function browserMs(): number {
  return Date.now()
}

/** Resolves after some time, or rejects when `signal` aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}
