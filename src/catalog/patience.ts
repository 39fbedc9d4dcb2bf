/** Batch work waits for MongoDB longer than a charge may, and tells that it waits. */
import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../runtime/clock.ts'
import { CatalogUnavailableError, SlowReadError } from './errors.ts'

export interface Patience {
  /** How long a step waits for MongoDB, in milliseconds. */
  readonly forMs: number
  /** The first pause between two attempts; later ones are longer. */
  readonly pauseMs?: number
  /** Ends the waiting: nobody needs the work any more, or the process stops. */
  readonly signal?: AbortSignal | undefined
  /** Called with the reason while a step waits, and with null when MongoDB has answered. */
  onWait(reason: string | null): void
}

/** `tell` receives only changes: a reason when waiting begins, and null when it ends. */
export function patienceOf(forMs: number, tell: (reason: string | null) => void): Patience {
  let isWaiting = false
  return {
    forMs,
    onWait(reason) {
      if (isWaiting === (reason !== null)) return
      isWaiting = reason !== null
      tell(reason)
    },
  }
}

/** A step is attempted once. */
export const NO_PATIENCE = patienceOf(0, () => undefined)

const PAUSE_MS = 500
const PAUSE_MS_MAX = 15_000

/**
 * Repeats a step that may be repeated: it only reads, or finds what it has written. Rejects with
 * the error of the last attempt.
 */
export async function repeated<T>(
  step: () => Promise<T>,
  { forMs, pauseMs: firstMs = PAUSE_MS, signal, onWait }: Patience,
  isOutage: (error: unknown) => boolean = isUnanswered,
): Promise<T> {
  const endMs = monotonicMs() + forMs
  for (let pauseMs = firstMs; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    try {
      const result = await step()
      onWait(null)
      return result
    } catch (error) {
      const leftMs = endMs - monotonicMs()
      if (!isOutage(error) || leftMs <= 0 || signal?.aborted) throw error
      onWait((error as Error).message)
      const waitMs = Math.min(pauseMs, leftMs)
      const isEnded = await pause(waitMs, false, { signal }).catch(() => true)
      if (isEnded) throw error
    }
  }
}

export function isUnanswered(error: unknown): error is Error {
  return isAway(error) || error instanceof SlowReadError
}

/** As `isUnanswered`, but for reads that MongoDB has stopped: they ask for too much. */
export function isAway(error: unknown): error is Error {
  return error instanceof CatalogUnavailableError
}
