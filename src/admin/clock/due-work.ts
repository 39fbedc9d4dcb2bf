/** The table of work that becomes due by the clock, and its runs while the clock is moved. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ObjectId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { JobDocument } from '../../catalog/records/job-document.ts'
import type { Config } from '../../config/schema.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { firstExpiryMs, streamBacklog } from '../../ledger/streams.ts'
import { sweepPartition } from '../../ledger/sweep.ts'
import { firstUnmailedMs } from '../../notifications/digest.ts'
import { type Clock, monotonicMs } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { requestRecording } from '../../store/recording-requests.ts'
import { nextRenewalMs } from '../autorenew/due.ts'
import { nextCardExpiryMs } from '../cards/expiry.ts'
import { nextFraudWindowMs } from '../event-jobs/fraud-job.ts'
import { nextDueDateMs } from '../event-jobs/overdue-job.ts'
import { jobsDue, readJob } from '../jobs/jobs.ts'
import { type JobHandlers, runJob } from '../jobs/runner.ts'

export interface DueParts {
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly clock: Clock
  readonly config: Pick<Config, 'sweep' | 'ledger' | 'rating'>
  readonly metrics: Pick<Metrics, 'sessionsExpired'>
  readonly handlers: JobHandlers
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/** Result of one run; no counts if it had no effect. */
export interface DoneWork {
  readonly subject: string
  readonly counts: Readonly<Record<string, number>>
  /** Why it has failed; absent if it has not. */
  readonly error?: string
}

export interface DueWork {
  readonly name: string
  /** Shortest time between two runs; a run without effect doubles it, up to a day. */
  readonly everyMs: number
  /** When it is due next (epoch ms); null if never. */
  dueMs(): Promise<number | null>
  run(signal: AbortSignal): Promise<readonly DoneWork[]>
}

const MINUTE_MS = 60_000
export const DAY_MS = 24 * 60 * MINUTE_MS

interface JobTiming {
  readonly everyMs: number
  /** When a job of this kind has work, if it polls for it. */
  readonly dueMs?: (parts: DueParts) => Promise<number | null>
}

/** Every kind of job. A kind that is added has its row here. */
const JOBS: Readonly<Record<JobDocument['kind'], JobTiming>> = {
  autorenew: { everyMs: MINUTE_MS, dueMs: ({ catalog }) => nextRenewalMs(catalog) },
  payments: { everyMs: MINUTE_MS, dueMs: ({ catalog }) => nextChargeMs(catalog) },
  charge: { everyMs: MINUTE_MS },
  overdue: { everyMs: MINUTE_MS, dueMs: nextDueDateMs },
  cycle: { everyMs: MINUTE_MS },
  confirm: { everyMs: MINUTE_MS },
  erase: { everyMs: MINUTE_MS },
  report: { everyMs: MINUTE_MS },
  retention: { everyMs: DAY_MS, dueMs: nextRetentionMs },
  syslog: { everyMs: DAY_MS },
  cards: { everyMs: MINUTE_MS, dueMs: nextCardExpiryMs },
  fraud: { everyMs: MINUTE_MS, dueMs: nextFraudWindowMs },
  digest: { everyMs: DAY_MS, dueMs: ({ catalog }) => firstUnmailedMs(catalog) },
}

/** Everything that becomes due, in the order in which it runs at the same time. */
export function dueWork(parts: DueParts): readonly DueWork[] {
  const kinds = Object.keys(JOBS) as JobDocument['kind'][]
  return [expiredSessions(parts), ...kinds.map((kind) => jobsOf(parts, kind))]
}

const LEASE_MS = 5_000
const PAUSE_MS = 50
/** Time for the recorder to write the lines of a run. */
const RECORDING_MS_MAX = 10_000

/** Sessions without a report: their reservations are released, and their lines end. */
function expiredSessions({ ledger, clock, config, metrics, log }: DueParts): DueWork {
  const { intervalMs, batchMax } = config.sweep
  const sweep = async (signal: AbortSignal): Promise<number> => {
    let expired = 0
    const settings = {
      batchMax,
      leaseMs: LEASE_MS,
      replayMs: config.ledger.replayMs,
      token: 'clock',
      onExpired(sessions: number) {
        expired += sessions
        metrics.sessionsExpired(sessions)
      },
    }
    for (let partition = 0; partition < ledger.keys.partitions; partition += 1) {
      while (!signal.aborted) {
        const { status } = await sweepPartition(ledger, partition, settings, clock.nowMs())
        if (status === 'done') break
        if (status === 'taken') await delay(PAUSE_MS)
      }
    }
    return expired
  }
  return {
    name: 'sessions',
    everyMs: intervalMs,
    dueMs: () => firstExpiryMs(ledger),
    async run(signal) {
      const expired = await sweep(signal)
      if (expired === 0) return []
      if (!(await untilRecorded(ledger, signal))) {
        log.warn({ expired }, 'the lines of expired sessions are not recorded yet')
      }
      return [{ subject: '', counts: { expired } }]
    },
  }
}

/** Later work may read the lines. False if the recorder takes too long, or does not run. */
async function untilRecorded(ledger: Ledger, signal: AbortSignal): Promise<boolean> {
  const endMs = monotonicMs() + RECORDING_MS_MAX
  while ((await streamBacklog(ledger)) > 0) {
    if (signal.aborted || monotonicMs() >= endMs) return false
    await requestRecording(ledger.redis)
    await delay(PAUSE_MS)
  }
  return true
}

function jobsOf(parts: DueParts, kind: JobDocument['kind']): DueWork {
  const { catalog } = parts
  const { everyMs, dueMs = () => nextJobMs(catalog, kind) } = JOBS[kind]
  return {
    name: kind,
    everyMs,
    dueMs: () => dueMs(parts),
    async run(signal) {
      const due = (await jobsDue(parts)).filter((job) => job.kind === kind)
      const done: DoneWork[] = []
      for (const job of due) {
        if (signal.aborted) break
        await runJob(parts, job, signal)
        const ended = await untilEnded(catalog, job._id, signal)
        if (ended !== null) done.push(doneBetween(job, ended))
      }
      return done.filter(({ counts, error }) => Object.keys(counts).length > 0 || error)
    },
  }
}

/** Another process, or the runner of this one, may have claimed the job. */
async function untilEnded(
  catalog: Catalog,
  id: ObjectId,
  signal: AbortSignal,
): Promise<JobDocument | null> {
  for (;;) {
    const job = await readJob({ catalog }, id)
    if (job?.state !== 'running' || signal.aborted) return job
    await delay(PAUSE_MS)
  }
}

function doneBetween(before: JobDocument, after: JobDocument): DoneWork {
  const added = Object.entries(after.counts).flatMap(([name, count]) => {
    const more = count - (before.counts[name] ?? 0)
    return more === 0 ? [] : [[name, more] as const]
  })
  const { subject, error } = after
  return { subject, counts: Object.fromEntries(added), ...(error !== '' && { error }) }
}

async function nextJobMs(
  catalog: Catalog,
  kind: JobDocument['kind'],
  more: { subject?: { $ne: string } } = {},
): Promise<number | null> {
  const next = await catalog.run('find the next job', () =>
    catalog.jobs
      .find({ kind, state: { $in: ['queued', 'waiting'] }, ...more })
      .sort({ due: 1 })
      .limit(1)
      .toArray(),
  )
  return next[0]?.due.getTime() ?? null
}

/** Files of reports are removed where there are any: a long move would look for them every day. */
async function nextRetentionMs({ catalog }: DueParts): Promise<number | null> {
  const report = await catalog.run('find a report', () => catalog.jobs.findOne({ kind: 'report' }))
  return nextJobMs(catalog, 'retention', report === null ? { subject: { $ne: 'reports' } } : {})
}

/** Retries and questions to gateways. */
async function nextChargeMs(catalog: Catalog): Promise<number | null> {
  const next = await catalog.run('find the next charge', () =>
    catalog.gatewaycharges
      .find({ due: { $gt: new Date(0) } })
      .sort({ due: 1 })
      .limit(1)
      .toArray(),
  )
  return next[0]?.due?.getTime() ?? null
}
