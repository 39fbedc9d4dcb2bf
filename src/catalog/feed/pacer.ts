/** Splits long work into slices, so that loading the catalogue never delays charging. */
import { monotonicMs } from '../../runtime/clock.ts'

/**
 * Well below the response time: a slice may run slightly longer, and garbage collection adds to it.
 */
const SLICE_MS = 2

export interface Pacer {
  /** Whether the slice is over: await `pause` before the next step. */
  isSliceOver(): boolean
  /** Yields to the other work of this thread. */
  pause(): Promise<void>
}

export function createPacer(): Pacer {
  let endMs = monotonicMs() + SLICE_MS
  return {
    isSliceOver: () => monotonicMs() >= endMs,
    async pause() {
      await new Promise((resolve) => setImmediate(resolve))
      endMs = monotonicMs() + SLICE_MS
    },
  }
}
