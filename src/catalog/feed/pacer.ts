/** Long work in slices, so that a thread that charges is never held up by its catalogue. */
import { monotonicMs } from '../../runtime/clock.ts'

/** Well below what a request may wait: a slice may end a little late, and garbage is collected. */
const SLICE_MS = 2

export interface Pacer {
  /** Whether this slice has lasted long enough: then the next step waits for `pause`. */
  isSliceOver(): boolean
  /** Lets everything else on this thread go first. */
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
