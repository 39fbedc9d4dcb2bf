/** Waits for a condition, and fails with its name if it does not become true. */
import { setTimeout as pause } from 'node:timers/promises'

export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const until = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > until) throw new Error(`waited in vain for: ${what}`)
    await pause(20)
  }
}
