/** Waits for a condition, and fails with its name if it does not become true. */
import { setTimeout as pause } from 'node:timers/promises'

const PAUSE_MS = 20
const PAUSE_MS_MAX = 500

export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const until = performance.now() + timeoutMs
  for (;;) {
    const asked = performance.now()
    if (await condition()) return
    const now = performance.now()
    if (now > until) throw new Error(`waited in vain for: ${what}`)
    // A costly condition uses a quarter of the time at most, or it delays what it waits for.
    await pause(Math.min(Math.max(PAUSE_MS, 3 * (now - asked)), PAUSE_MS_MAX))
  }
}
