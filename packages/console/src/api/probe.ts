/** Asks whether the server answers again, while it does not. */
import { isOnline } from './client.ts'
import { pause } from './clock.ts'

const INTERVAL_MS = 2_000

export function startProbe(): void {
  let isRunning = false
  isOnline.subscribe((online) => {
    if (online || isRunning) return
    isRunning = true
    void probe().finally(() => {
      isRunning = false
    })
  })
}

async function probe(): Promise<void> {
  while (!isOnline.peek()) {
    await pause(INTERVAL_MS)
    // Any answer will do; a proxy answers 502 to 504 for a node that is away.
    const answer = await fetch(new URL('health/live', document.baseURI)).catch(() => null)
    if (answer !== null && answer.status < 502) isOnline.value = true
  }
}
