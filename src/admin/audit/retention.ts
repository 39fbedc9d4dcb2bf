/** Records of the audit go when they are older than `audit.keepDays`. */
import { setTimeout as delay } from 'node:timers/promises'
import { noteRemoved } from '../../catalog/audit/removed.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Config } from '../../config/schema.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'

export interface RetentionOptions {
  catalog: Catalog
  clock: Clock
  config: Pick<Config, 'audit' | 'secrets'>
  log: Pick<Logger, 'info' | 'warn'>
  /** An hour; only tests are in a hurry. */
  everyMs?: number
}

export interface AuditRetention {
  /** Ends after the batch that is being deleted. */
  stop(): Promise<void>
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Few enough that no writer waits for long. */
const BATCH = 500
const PAUSE_MS = 20

/**
 * Deletes what is too old, now and once an hour; several processes may. With `keepDays` 0 nothing
 * is deleted. An outage is logged, and it goes on an hour later.
 */
export function startAuditRetention(options: RetentionOptions): AuditRetention {
  const { config, log, everyMs = HOUR_MS } = options
  const abort = new AbortController()
  const { signal } = abort
  const rest = (ms: number) => delay(ms, undefined, { signal }).catch(() => undefined)
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const deleted = await deleteOld(options, signal)
        if (deleted > 0) log.info({ deleted }, 'deleted old records of the audit')
      } catch (error) {
        log.warn({ err: error }, 'old records of the audit cannot be deleted')
      }
      await rest(everyMs)
    }
  }
  const running = config.audit.keepDays === 0 ? Promise.resolve() : run()
  return {
    async stop() {
      abort.abort()
      await running
    },
  }
}

async function deleteOld(options: RetentionOptions, signal: AbortSignal): Promise<number> {
  const { catalog, clock, config } = options
  const before = new Date(clock.nowMs() - config.audit.keepDays * DAY_MS)
  let deleted = 0
  while (!signal.aborted) {
    const found = await catalog.run('look for old records of the audit', () =>
      catalog.audit
        .find({ urt: { $lt: before } }, { projection: { chain: 1 } })
        .sort({ urt: 1, _id: 1 })
        .limit(BATCH)
        .toArray(),
    )
    if (found.length === 0) break
    const ids = found.map(({ _id }) => _id)
    await noteRemoved(
      catalog,
      found.flatMap(({ chain }) => chain ?? []),
      config.secrets.key,
    )
    const { deletedCount } = await catalog.run('delete old records of the audit', () =>
      catalog.audit.deleteMany({ _id: { $in: ids } }),
    )
    deleted += deletedCount
    await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined)
  }
  return deleted
}
