/** Jobs that remove expired data once per hour. */
import { setTimeout as delay } from 'node:timers/promises'
import { storeRemovedRuns } from '../../catalog/audit/removed-runs.ts'
import { monotonicMs } from '../../runtime/clock.ts'
import { beginJob } from '../jobs.ts'
import type { JobHandler } from '../runner.ts'
import { removeLines } from './lines.ts'
import { removeEvents, removeImports, removeIntake, removeJobs } from './others.ts'
import type { Removal, RetentionConfig, RetentionParts } from './removal.ts'

const COLLECTIONS = ['lines', 'audit', 'imports', 'jobs', 'reports', 'events', 'intake'] as const

type RetainedCollection = (typeof COLLECTIONS)[number]

const HOUR_MS = 3_600_000
const HOURS_PER_DAY = 24
const DAY_MS = HOURS_PER_DAY * HOUR_MS
const PAUSE_MS_MIN = 20
const AUDIT_BATCH = 500

type Remove = (removal: Removal) => Promise<void>

const REMOVALS: Readonly<Record<Exclude<RetainedCollection, 'reports'>, Remove>> = {
  lines: removeLines,
  audit: removeAudit,
  imports: removeImports,
  jobs: removeJobs,
  events: removeEvents,
  intake: removeIntake,
}

function daysOf({
  retention,
  audit,
  reports: { keepHours },
}: RetentionConfig): Record<RetainedCollection, number> {
  const { linesDays, importsDays, jobsDays, eventsDays, intakeDays } = retention
  const reports = keepHours / HOURS_PER_DAY
  return {
    lines: linesDays,
    audit: audit.keepDays,
    imports: importsDays,
    jobs: jobsDays,
    reports,
    events: eventsDays,
    intake: intakeDays,
  }
}

/** `removeReports` removes expired files. */
export function retentionHandler(parts: RetentionParts, removeReports: Remove): JobHandler {
  const { clock, config, metrics } = parts
  const removals = { ...REMOVALS, reports: removeReports }
  return async (claimed, signal) => {
    const collection = claimed.job.subject as RetainedCollection
    const days = daysOf(config)[collection] ?? 0
    // The settings have changed since the job was begun.
    if (days === 0) return null
    let beganMs = monotonicMs()
    await removals[collection]({
      ...parts,
      beforeMs: clock.nowMs() - days * DAY_MS,
      signal,
      async removeBatch(remove) {
        let removed = 0
        await claimed.commitBatch('remove', async (session) => {
          removed = await remove(session)
          return { removed }
        })
        metrics.retentionRemoved(collection, removed)
        const tookMs = monotonicMs() - beganMs
        await delay(Math.max(PAUSE_MS_MIN, tookMs), undefined, { signal }).catch(() => undefined)
        beganMs = monotonicMs()
      },
    })
    // After an abort the next process continues immediately.
    if (signal.aborted) return clock.nowMs()
    metrics.retentionEnded(collection, clock.nowMs())
    return clock.nowMs() + HOUR_MS
  }
}

/**
 * Begins the jobs required by the settings; jobs waiting for their next hour become due
 * immediately.
 */
export async function beginRetention({
  catalog,
  clock,
  config,
}: Pick<RetentionParts, 'catalog' | 'clock' | 'config'>): Promise<void> {
  const actor = { by: 'node', id: '', name: '', address: '' } as const
  for (const [subject, days] of Object.entries(daysOf(config))) {
    if (days === 0) continue
    const job = await beginJob(
      { catalog, clock },
      { kind: 'retention', subject, options: {}, actor },
    )
    await catalog.jobs.updateOne(
      { _id: job._id, state: 'waiting' },
      { $set: { due: new Date(clock.nowMs()) } },
    )
  }
}

/** The hash chain of the remaining audit records stays valid. */
async function removeAudit(removal: Removal): Promise<void> {
  const { catalog, config, beforeMs, signal, removeBatch } = removal
  const before = new Date(beforeMs)
  while (!signal.aborted) {
    const found = await catalog.audit
      .find({ urt: { $lt: before } }, { projection: { chain: 1 } })
      .sort({ urt: 1, _id: 1 })
      .limit(AUDIT_BATCH)
      .toArray()
    if (found.length === 0) return
    const links = found.flatMap(({ chain }) => chain ?? [])
    const ids = found.map(({ _id }) => _id)
    await removeBatch(async (session) => {
      await storeRemovedRuns(catalog, session, links, config.secrets.key)
      const { deletedCount } = await catalog.audit.deleteMany({ _id: { $in: ids } }, { session })
      return deletedCount
    })
  }
}
