/**
 * The standing job that finds debts when their due date passes. It follows the due dates, so that
 * each run reads the bills of the time since the last one; bills that are overdue from their
 * beginning, or again, are found when they are written (billing/books).
 */
import { dueWithin, nextDueDate, reportOverdue } from '../../billing/books/overdue.ts'
import { NODE_ACTOR } from '../../catalog/actor.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { moneyRulesIn } from '../../catalog/settings/events/event-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import type { Config } from '../../config/schema.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { beginJob } from '../jobs.ts'
import type { JobHandler } from '../runner.ts'
import { createInvalidRules, type ReportInvalid } from './invalid-rules.ts'
import { readPosition } from './position.ts'

export interface OverdueParts {
  catalog: Catalog
  clock: Clock
  config: Pick<Config, 'rating'>
}

const STANDING_MS = 10_000
/** So long after a due date; the clocks of processes may differ by as much. */
const LATER_MS = 60_000
/** Bills of one transaction. */
const BATCH = 200
const READ_MS_MAX = 60_000
const STEP = 'overdue'

/** Begins the standing job, unless there is one. */
export async function beginOverdue(stores: Parameters<typeof beginJob>[0]): Promise<void> {
  await beginJob(stores, { kind: 'overdue', subject: 'debts', options: {}, actor: NODE_ACTOR })
}

/**
 * Without a rule it does nothing; a rule applies to due dates that pass after it was stored. Logs
 * rules of money that are left out, of whatever type.
 */
export function overdueHandler({
  catalog,
  clock,
  config,
  log,
}: OverdueParts & { log: Pick<Logger, 'warn'> }): JobHandler {
  const reportInvalid = createInvalidRules(log)
  const { currencyCode } = config.rating
  return async (claimed, signal) => {
    const nowMs = clock.nowMs()
    const { position } = claimed.job
    if (!(await hasRule(catalog, reportInvalid))) {
      if (position?.['due'] !== undefined) await claimed.saveProgress(STEP, {})
      return nowMs + STANDING_MS
    }
    const to = new Date(nowMs - LATER_MS)
    const from = position?.['due'] ?? to
    const batches = catalog.readBatches(
      'find overdue bills',
      (limits) =>
        catalog.unguarded.bills.find(dueWithin(from, to), {
          ...limits,
          projection: { _id: 1 },
          batchSize: BATCH,
        }),
      { signal, limitMs: READ_MS_MAX },
    )
    for await (const batch of batches) {
      const ids = batch.map(({ _id }) => _id)
      await claimed.commitBatch(STEP, async (session) => ({
        overdue: await reportOverdue(catalog, session, ids, { nowMs, currencyCode }),
      }))
      // The next process reads these bills again, and reports none twice.
      if (signal.aborted) return nowMs
    }
    await claimed.saveProgress(STEP, { due: to })
    return nowMs + STANDING_MS
  }
}

async function hasRule(catalog: Catalog, reportInvalid?: ReportInvalid): Promise<boolean> {
  const { value } = await readCategory(catalog, 'events')
  const { rules, invalid } = moneyRulesIn(value)
  reportInvalid?.(invalid)
  return rules.some(({ type }) => type === 'overdue')
}

/** When the next debt becomes overdue; null without such a debt or a rule. */
export async function nextDueDateMs({
  catalog,
  clock,
}: Pick<OverdueParts, 'catalog' | 'clock'>): Promise<number | null> {
  if (!(await hasRule(catalog))) return null
  const { due } = await readPosition(catalog, 'overdue')
  const nextMs = await nextDueDate(catalog, due ?? new Date(clock.nowMs() - LATER_MS))
  return nextMs === null ? null : nextMs + LATER_MS + 1
}
