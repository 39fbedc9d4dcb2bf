/** Runs jobs in the background: those begun here at once, due jobs, and those of dead processes. */
import type { JobDocument } from '../catalog/records/job-document.ts'
import type { Config } from '../config/schema.ts'
import type { Logger } from '../runtime/log.ts'
import {
  type ClaimedJob,
  claimJob,
  JobFailedError,
  JobLostError,
  type JobStores,
  jobsDue,
} from './jobs.ts'

/** Continues a job. Returns when it has to run again (epoch ms); null if it is done. */
export type JobHandler = (claimed: ClaimedJob, signal: AbortSignal) => Promise<number | null>

/** Jobs of kinds without a handler are left to other processes. */
export type JobHandlers = Readonly<Partial<Record<JobDocument['kind'], JobHandler>>>

export interface JobRunnerOptions extends JobStores {
  handlers: JobHandlers
  log: Pick<Logger, 'info' | 'warn'>
  config: Pick<Config, 'jobs'>
}

export interface JobRunner {
  /** Stops after the current step; other processes continue. */
  stop(): Promise<void>
}

/** Limit per kind, so that many erasures do not saturate the store. */
const AT_ONCE = 4

export function startJobRunner(options: JobRunnerOptions): JobRunner {
  const { catalog, config, log } = options
  const abort = new AbortController()
  const { signal } = abort
  /** By id; jobs run concurrently so that a long one does not delay the others. */
  const running = new Map<string, { kind: JobDocument['kind']; ended: Promise<unknown> }>()
  let timer: NodeJS.Timeout | undefined
  /** A poll that has not begun yet finds everything that was begun before. */
  let isPollAhead = false
  const begin = (job: JobDocument): void => {
    const { kind, _id } = job
    const ofKind = [...running.values()].filter((one) => one.kind === kind)
    const id = _id.toHexString()
    if (running.has(id) || ofKind.length >= AT_ONCE) return
    const ended = runJob(options, job, signal)
      .catch((error: unknown) => log.warn({ err: error, job: id, kind }, 'a job cannot be claimed'))
      .finally(() => running.delete(id))
    running.set(id, { kind, ended })
  }
  const poll = async (): Promise<void> => {
    isPollAhead = false
    try {
      const due = await jobsDue(options)
      if (!signal.aborted) for (const job of due) begin(job)
    } catch (error) {
      log.warn({ err: error }, 'cannot read the jobs that are due')
    }
    if (!signal.aborted && !isPollAhead) timer = setTimeout(next, config.jobs.pollMs)
  }
  let polling = Promise.resolve()
  const next = () => {
    clearTimeout(timer)
    if (isPollAhead) return
    isPollAhead = true
    polling = polling.then(poll)
  }
  catalog.jobWatchers.add(next)
  next()
  return {
    async stop() {
      abort.abort()
      catalog.jobWatchers.delete(next)
      clearTimeout(timer)
      await polling
      await Promise.all([...running.values()].map(({ ended }) => ended))
    },
  }
}

/**
 * Runs a job unless another process has claimed it, or there is no handler: false. A failed job is
 * retried later.
 */
export async function runJob(
  options: JobRunnerOptions,
  job: JobDocument,
  signal: AbortSignal,
): Promise<boolean> {
  const { handlers, log } = options
  const { kind } = job
  const handler = handlers[kind]
  const claimed = handler === undefined ? null : await claimJob(options, job)
  if (handler === undefined || claimed === null) return false
  const id = job._id.toHexString()
  try {
    const atMs = await handler(claimed, signal)
    await claimed.end(atMs === null ? null : { atMs })
    if (atMs === null) log.info({ job: id, kind, counts: claimed.job.counts }, 'job done')
  } catch (error) {
    if (error instanceof JobLostError) return false
    await endFailed(options, claimed, error)
  }
  return true
}

/** If the end cannot be stored either, the lease expires, and the job is tried again. */
async function endFailed(
  { clock, config, log }: JobRunnerOptions,
  claimed: ClaimedJob,
  error: unknown,
): Promise<void> {
  const { _id, kind, step } = claimed.job
  const job = _id.toHexString()
  if (error instanceof JobFailedError) {
    log.warn({ err: error, job, kind }, 'a job failed')
    return await claimed.end({ failed: error.message }).catch(() => undefined)
  }
  log.warn({ err: error, job, kind, step }, 'a job failed; it will be retried')
  const again = { atMs: clock.nowMs() + config.jobs.retryMs, error: (error as Error).message }
  await claimed.end(again).catch(() => undefined)
}
