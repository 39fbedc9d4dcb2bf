/** Works on jobs in the background: those that are due, and those of processes that have died. */
import type { JobDocument } from '../../catalog/records/job-document.ts'
import type { Logger } from '../../runtime/log.ts'
import { type ClaimedJob, claimJob, JobLostError, type JobStores, jobsDue } from './jobs.ts'

/** Does what is left of a job. Gives when it has to go on (epoch ms); null: it is done. */
export type JobHandler = (held: ClaimedJob, signal: AbortSignal) => Promise<number | null>

/** A kind that has none is left to other processes. */
export type JobHandlers = Readonly<Partial<Record<JobDocument['kind'], JobHandler>>>

export interface JobRunnerOptions extends JobStores {
  handlers: JobHandlers
  log: Pick<Logger, 'info' | 'warn'>
  /** Between two looks for jobs; only tests are in a hurry. */
  everyMs?: number
}

export interface JobRunner {
  /** Ends after what is being done right now; the rest is left to the next process. */
  stop(): Promise<void>
}

const LOOK_MS = 2_000
/** After a failure, mostly an outage. */
const RETRY_MS = 30_000
/** Of one kind, so that many erasures do not take all of the store. */
const AT_ONCE = 4

export function startJobRunner(options: JobRunnerOptions): JobRunner {
  const { log, everyMs = LOOK_MS } = options
  const abort = new AbortController()
  const { signal } = abort
  /** By id; what takes long must not keep the others waiting. */
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
  const round = async (): Promise<void> => {
    try {
      const due = await jobsDue(options)
      if (!signal.aborted) for (const job of due) begin(job)
    } catch (error) {
      log.warn({ err: error }, 'jobs cannot be looked for')
    }
    if (!signal.aborted) timer = setTimeout(next, everyMs)
  }
  let looking = Promise.resolve()
  const next = () => {
    looking = round()
  }
  next()
  return {
    async stop() {
      abort.abort()
      clearTimeout(timer)
      await looking
      await Promise.all([...running.values()].map(({ ended }) => ended))
    },
  }
}

/** Works on one job, unless another process does. What fails is tried again later. */
export async function runJob(
  options: JobRunnerOptions,
  job: JobDocument,
  signal: AbortSignal,
): Promise<void> {
  const { clock, handlers, log } = options
  const { kind } = job
  const handler = handlers[kind]
  const held = handler === undefined ? null : await claimJob(options, job)
  if (handler === undefined || held === null) return
  const id = job._id.toHexString()
  try {
    const atMs = await handler(held, signal)
    await held.end(atMs === null ? null : { atMs })
    if (atMs === null) log.info({ job: id, kind, counts: held.job.counts }, 'job done')
  } catch (error) {
    if (error instanceof JobLostError) return
    log.warn({ err: error, job: id, kind, step: held.job.step }, 'a job failed: tried again later')
    const again = { atMs: clock.nowMs() + RETRY_MS, error: (error as Error).message }
    // Where this fails too, the lease ends by itself.
    await held.end(again).catch(() => undefined)
  }
}
