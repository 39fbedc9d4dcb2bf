/** Waits for a condition, and fails by name when it does not come. */
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
