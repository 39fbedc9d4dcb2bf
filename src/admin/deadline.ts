/** A time limit for an answer that may never come. */
import { setTimeout as pause } from 'node:timers/promises'

/** Resolves with `late` after the limit; what is waited for is not cancelled. */
export async function within<T, L>(answer: Promise<T>, limitMs: number, late: L): Promise<T | L> {
  const controller = new AbortController()
  const limit = pause(limitMs, late, { signal: controller.signal }).catch(() => late)
  try {
    return await Promise.race([answer, limit])
  } finally {
    controller.abort()
  }
}
