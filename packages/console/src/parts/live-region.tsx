/** Messages for screen readers: polite, and few. */
import { signal } from '@preact/signals'
import { elapsedMs } from '../api/clock.ts'

const INTERVAL_MS = 5_000

const message = signal('')
let saidMs = Number.NEGATIVE_INFINITY
let waiting: ReturnType<typeof setTimeout> | null = null

/** At most one message in five seconds; a newer one replaces one that waits. */
export function announce(text: string): void {
  if (waiting !== null) clearTimeout(waiting)
  const say = () => {
    waiting = null
    saidMs = elapsedMs()
    message.value = text
  }
  const waitMs = saidMs + INTERVAL_MS - elapsedMs()
  waiting = waitMs > 0 ? setTimeout(say, waitMs) : null
  if (waiting === null) say()
}

export function LiveRegion() {
  return (
    <div class="hidden" role="status" aria-live="polite">
      {message.value}
    </div>
  )
}
