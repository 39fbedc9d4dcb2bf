/** Runs jobs in the background: due jobs, and those of dead processes. */
import type { JobDocument } from '../../catalog/records/job-document.ts'
import type { Logger } from '../../runtime/log.ts'
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
  /** Poll interval; shorter in tests. */
  everyMs?: number
}

export interface JobRunner {
  /** Stops after the current step; other processes continue. */
  stop(): Promise<void>
}

const POLL_MS = 2_000
/** After a failure, usually an outage. */
const RETRY_MS = 30_000
/** Limit per kind, so that many erasures do not saturate the store. */
const AT_ONCE = 4

export function startJobRunner(options: JobRunnerOptions): JobRunner {
  const { log, everyMs = POLL_MS } = options
  const abort = new AbortController()
  const { signal } = abort
  /** By id; jobs run concurrently so that a long one does not delay the others. */
  const running = new Map<string, { kind: JobDocument['kind']; ended: Promise<void> }>()
  let timer: NodeJS.Timeout | undefined
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
    try {
      const due = await jobsDue(options)
      if (!signal.aborted) for (const job of due) begin(job)
    } catch (error) {
      log.warn({ err: error }, 'cannot read the jobs that are due')
    }
    if (!signal.aborted) timer = setTimeout(next, everyMs)
  }
  let polling = Promise.resolve()
  const next = () => {
    polling = poll()
  }
  next()
  return {
    async stop() {
      abort.abort()
      clearTimeout(timer)
      await polling
      await Promise.all([...running.values()].map(({ ended }) => ended))
    },
  }
}

/** Runs a job unless another process has claimed it. A failed job is retried later. */
export async function runJob(
  options: JobRunnerOptions,
  job: JobDocument,
  signal: AbortSignal,
): Promise<void> {
  const { clock, handlers, log } = options
  const { kind } = job
  const handler = handlers[kind]
  const claimed = handler === undefined ? null : await claimJob(options, job)
  if (handler === undefined || claimed === null) return
  const id = job._id.toHexString()
  try {
    const atMs = await handler(claimed, signal)
    await claimed.end(atMs === null ? null : { atMs })
    if (atMs === null) log.info({ job: id, kind, counts: claimed.job.counts }, 'job done')
  } catch (error) {
    if (error instanceof JobLostError) return
    if (error instanceof JobFailedError) {
      log.warn({ err: error, job: id, kind }, 'a job failed')
      // If this fails, the lease expires, and another attempt fails in the same way.
      return await claimed.end({ failed: error.message }).catch(() => undefined)
    }
    log.warn(
      { err: error, job: id, kind, step: claimed.job.step },
      'a job failed; it will be retried',
    )
    const again = { atMs: clock.nowMs() + RETRY_MS, error: (error as Error).message }
    // If this fails too, the lease expires.
    await claimed.end(again).catch(() => undefined)
  }
}
