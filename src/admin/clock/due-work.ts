/** The table of work that becomes due by the clock, and its runs while the clock is moved. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../../catalog/connection.ts'
import type { JobDocument } from '../../catalog/records/job-document.ts'
import type { Config } from '../../config/schema.ts'
import { nextFraudWindowMs } from '../../jobs/event-jobs/fraud-job.ts'
import { nextDueDateMs } from '../../jobs/event-jobs/overdue-job.ts'
import { activeJobs, isDue, isRunning, readJob } from '../../jobs/jobs.ts'
import { type JobHandlers, runJob } from '../../jobs/runner.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { firstExpiryMs, streamBacklog } from '../../ledger/streams.ts'
import { sweepPartition } from '../../ledger/sweep.ts'
import { firstUnmailedMs } from '../../notifications/digest.ts'
import { nextRenewalMs } from '../../prepaid/autorenew/due.ts'
import { nextCardExpiryMs } from '../../prepaid/cards/expiry.ts'
import { type Clock, monotonicMs } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { requestRecording } from '../../store/recording-requests.ts'

export interface DueParts {
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly clock: Clock
  readonly config: Pick<Config, 'jobs' | 'sweep' | 'ledger' | 'rating'>
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

export interface WorkRun {
  readonly done: readonly DoneWork[]
  /** Another process did all or part of the work, so no effect here proves nothing. */
  readonly isByOthers: boolean
}

export interface DueWork {
  readonly name: string
  /** Shortest time between two runs; a run without effect doubles it, up to a day. */
  readonly everyMs: number
  /** When it is due next (epoch ms), with the active jobs of all kinds; null if never. */
  dueMs(jobs: readonly JobDocument[]): Promise<number | null>
  run(signal: AbortSignal): Promise<WorkRun>
}

const MINUTE_MS = 60_000
export const DAY_MS = 24 * 60 * MINUTE_MS

interface JobTiming {
  readonly everyMs: number
  /** When a job of this kind has work, if it polls for it. `jobs`: those of the kind. */
  readonly dueMs?: (parts: DueParts, jobs: readonly JobDocument[]) => Promise<number | null>
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
  rerate: { everyMs: MINUTE_MS },
  retention: { everyMs: DAY_MS, dueMs: nextRetentionMs },
  syslog: { everyMs: DAY_MS },
  export: { everyMs: DAY_MS },
  kafka: { everyMs: DAY_MS },
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
  const sweep = async (signal: AbortSignal): Promise<{ expired: number; isByOthers: boolean }> => {
    let expired = 0
    // The recorder sweeps as well, and may have been faster.
    let isByOthers = ((await firstExpiryMs(ledger)) ?? Infinity) > clock.nowMs()
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
        if (status === 'more') continue
        isByOthers = true
        await delay(PAUSE_MS)
      }
    }
    return { expired, isByOthers }
  }
  return {
    name: 'sessions',
    everyMs: intervalMs,
    dueMs: () => firstExpiryMs(ledger),
    async run(signal) {
      const { expired, isByOthers } = await sweep(signal)
      if (expired === 0 && !isByOthers) return { done: [], isByOthers }
      if (!(await untilRecorded(ledger, signal))) {
        log.warn({ expired }, 'the lines of expired sessions are not recorded yet')
      }
      return { done: expired === 0 ? [] : [{ subject: '', counts: { expired } }], isByOthers }
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
  const { clock } = parts
  const { everyMs, dueMs } = JOBS[kind]
  return {
    name: kind,
    everyMs,
    async dueMs(jobs) {
      const ofKind = jobs.filter((job) => job.kind === kind)
      const firstMs = firstDueMs(ofKind)
      if (dueMs === undefined) return firstMs
      const workMs = await dueMs(parts, ofKind)
      // Its job cannot run before it is due itself, as after a failure.
      return workMs === null ? null : Math.max(workMs, firstMs ?? workMs)
    },
    async run(signal) {
      const { jobs, hasWaited } = await settledJobs(parts, signal, kind)
      const due = jobs.filter((job) => isDue(job, clock))
      const done: DoneWork[] = []
      // Without its standing job, work stays due: it is looked for less and less often.
      let isByOthers = hasWaited || (due.length === 0 && (jobs.length > 0 || dueMs === undefined))
      for (const job of due) {
        if (signal.aborted) break
        if (!(await runJob(parts, job, signal))) {
          isByOthers = true
          await settledJobs(parts, signal, kind)
        }
        const ended = await readJob(parts, job._id)
        if (ended !== null) done.push(doneBetween(job, ended))
      }
      const effects = done.filter(({ counts, error }) => Object.keys(counts).length > 0 || error)
      return { done: effects, isByOthers }
    },
  }
}

/**
 * The active jobs, of one kind or all, once no process works on any of them: the runner of this
 * process and other processes claim jobs, too.
 */
export async function settledJobs(
  stores: Pick<DueParts, 'catalog' | 'clock'>,
  signal: AbortSignal,
  kind?: JobDocument['kind'],
): Promise<{ jobs: readonly JobDocument[]; hasWaited: boolean }> {
  for (let hasWaited = false; ; hasWaited = true) {
    const active = await activeJobs(stores)
    const jobs = kind === undefined ? active : active.filter((job) => job.kind === kind)
    const isSettled = !jobs.some((job) => isRunning(job, stores.clock))
    if (isSettled || signal.aborted) return { jobs, hasWaited }
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

/** When the first job is due; null without jobs. */
function firstDueMs(jobs: readonly JobDocument[]): number | null {
  return jobs.length === 0 ? null : Math.min(...jobs.map(({ due }) => due.getTime()))
}

/** Files of reports are removed where there are any: a long move would look for them every day. */
async function nextRetentionMs(
  { catalog }: DueParts,
  jobs: readonly JobDocument[],
): Promise<number | null> {
  const report = await catalog.jobs.findOne({ kind: 'report' })
  return firstDueMs(report === null ? jobs.filter(({ subject }) => subject !== 'reports') : jobs)
}

/** Retries and questions to gateways. */
async function nextChargeMs(catalog: Catalog): Promise<number | null> {
  const next = await catalog.gatewaycharges
    .find({ due: { $gt: new Date(0) } })
    .sort({ due: 1 })
    .limit(1)
    .toArray()
  return next[0]?.due?.getTime() ?? null
}
