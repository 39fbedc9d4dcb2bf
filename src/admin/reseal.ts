/** Re-encrypts stored secrets with the current key at startup. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError, EntityConflictError } from '../catalog/errors.ts'
import { resealAll } from '../catalog/reseal/reseal.ts'
import { type SecretSettings, sealerOf } from '../catalog/sealing/secret-keys.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'

export interface ResealOptions {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly config: SecretSettings
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** The node itself as the actor. */
const NODE = { by: 'node', id: '', name: '', address: '' } as const
const RETRY_MS = 1000

/** Retries until it succeeds: MongoDB may become available later than this process. */
export function startReseal(options: ResealOptions): { stop(): Promise<void> } {
  const abort = new AbortController()
  const { signal } = abort
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      if (await tryReseal(options)) return
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    async stop() {
      abort.abort()
      await running
    },
  }
}

/** False if it has to be retried. */
async function tryReseal({ catalog, clock, config, log }: ResealOptions): Promise<boolean> {
  try {
    const change = { nowMs: clock.nowMs(), actor: NODE }
    const { sealed, lost } = await resealAll(catalog, sealerOf(config), change)
    if (sealed > 0) log.info({ sealed }, 'sealed stored secrets with the current key')
    for (const { kind, name, key } of lost) {
      log.error({ kind, name, key }, 'a stored secret cannot be opened: its key is not known')
    }
    return true
  } catch (error) {
    const isPassing =
      error instanceof CatalogUnavailableError || error instanceof EntityConflictError
    if (!isPassing) log.error({ err: error }, 'stored secrets cannot be sealed')
    return !isPassing
  }
}
