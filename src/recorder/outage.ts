/** Back-off while a store is unavailable, with one log line for its beginning and its end. */
import { setTimeout as delay } from 'node:timers/promises'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import type { Logger } from '../runtime/log.ts'
import { StoreDownError } from '../store/redis.ts'

const PAUSE_MS_MIN = 50

export interface Outage {
  /** Logs the first failure of a kind, and waits. Resolves early when the signal is aborted. */
  failed(error: unknown): Promise<void>
  /** Reports that operation has resumed. */
  over(): void
}

export function createOutage(
  what: string,
  pauseMsMax: number,
  log: Logger,
  signal: AbortSignal,
): Outage {
  let kind: string | undefined
  let pauseMs = PAUSE_MS_MIN
  return {
    async failed(error) {
      const now = kindOf(error)
      if (now !== kind) {
        if (now === 'defect') log.error({ err: error, what }, 'failed; retrying')
        else log.warn({ err: error, what, store: now }, 'store is unavailable; retrying')
      }
      kind = now
      await delay(pauseMs, undefined, { signal }).catch(() => undefined)
      pauseMs = Math.min(pauseMs * 2, pauseMsMax)
    },
    over() {
      if (kind !== undefined) log.info({ what }, 'works again')
      kind = undefined
      pauseMs = PAUSE_MS_MIN
    },
  }
}

function kindOf(error: unknown): string {
  if (error instanceof CatalogUnavailableError) return 'MongoDB'
  return error instanceof StoreDownError ? 'Redis' : 'defect'
}
