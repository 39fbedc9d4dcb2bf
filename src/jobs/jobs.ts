/** Jobs in MongoDB: created once, claimed by one process at a time, resumed by any process. */
import { randomUUID } from 'node:crypto'
import { type Actor, plainActor } from '../catalog/actor.ts'
import { type ClientSession, type Filter, ObjectId } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import { isAway, repeated } from '../catalog/patience.ts'
import type { JobDocument } from '../catalog/records/job-document.ts'
import { stateOf } from '../catalog/transactions/state.ts'
import { type Clock, realTimeOf } from '../runtime/clock.ts'
import { hasEnded, processIdentity } from '../runtime/process-identity.ts'

export interface JobStores {
  catalog: Catalog
  clock: Clock
}

export interface NewJob {
  kind: JobDocument['kind']
  subject: string
  options: Record<string, unknown>
  actor: Actor
  /** An active job looks for work once more before it ends. */
  hasWork?: true
}

/** Longer than a step between two progress updates. */
const LEASE_MS = 60_000

/** Another process has claimed the job: this one stops without further writes. */
export class JobLostError extends Error {
  override name = 'JobLostError'
}

/**
 * Creates the job, or returns the active one of the same kind and subject. Rejects with
 * `CatalogUnavailableError`.
 */
export function beginJob(stores: JobStores, job: NewJob): Promise<JobDocument> {
  return stores.catalog.transaction('begin a job', (session) => addJob(stores, session, job))
}

/** As `beginJob`, within a transaction. The runner of this process starts it after the commit. */
export async function addJob(
  { catalog, clock }: JobStores,
  session: ClientSession,
  job: NewJob,
): Promise<JobDocument> {
  const now = new Date(clock.nowMs())
  const active = `${job.kind}/${job.subject}`
  const document: JobDocument = {
    _id: new ObjectId(),
    kind: job.kind,
    subject: job.subject,
    active,
    state: 'queued',
    step: '',
    counts: {},
    options: job.options,
    actor: plainActor(job.actor),
    error: '',
    due: now,
    token: '',
    holder: null,
    expires: now,
    created: now,
    changed: now,
    ended: null,
  }
  const found = await catalog.jobs.findOne({ active }, { session })
  if (found !== null) {
    const { _id } = found
    if (job.hasWork) await catalog.jobs.updateOne({ _id }, { $set: { again: true } }, { session })
    return found
  }
  await catalog.jobs.insertOne(document, { session })
  stateOf(session).afterCommit.push(() => {
    for (const watcher of catalog.jobWatchers) watcher()
  })
  return document
}

export function readJob({ catalog }: Pick<JobStores, 'catalog'>, id: ObjectId) {
  return catalog.jobs.findOne({ _id: id })
}

/** Jobs that are due or abandoned, the longest due first. */
export async function jobsDue(stores: JobStores): Promise<JobDocument[]> {
  const found = await activeJobs(stores)
  return found.filter((job) => isDue(job, stores.clock))
}

/** Jobs that are not done, the longest due first. */
export function activeJobs({ catalog }: Pick<JobStores, 'catalog'>): Promise<JobDocument[]> {
  return catalog.jobs
    .find({ state: { $in: ['queued', 'waiting', 'running'] } })
    .sort({ due: 1 })
    .toArray()
}

/** Whether an active job can be claimed: it is due, or was abandoned. */
export function isDue(job: JobDocument, clock: Clock): boolean {
  return job.state === 'running' ? !isRunning(job, clock) : job.due.getTime() <= clock.nowMs()
}

/** Whether a process works on the job. */
export function isRunning({ state, expires, holder }: JobDocument, clock: Clock): boolean {
  const isHeld = expires.getTime() > realTimeOf(clock).nowMs()
  return state === 'running' && isHeld && (holder === null || !hasEnded(holder))
}

function leaseFrom(clock: Clock): Date {
  return new Date(realTimeOf(clock).nowMs() + LEASE_MS)
}

/** The job cannot succeed, however often it is repeated; its text is shown to the caller. */
export class JobFailedError extends Error {
  override name = 'JobFailedError'
}

/** A job claimed by this process. */
export interface ClaimedJob {
  readonly job: JobDocument
  /** Adds to a counter of the job. */
  count(name: string, added: number): void
  /**
   * Saves the progress, and with `position` how far the job has come. Rejects with `JobLostError`
   * or `CatalogUnavailableError`.
   */
  saveProgress(step: string, position?: JobDocument['position']): Promise<void>
  /**
   * Writes a batch and the progress in one transaction. `write` returns what the batch adds to the
   * counters, and may be called again (`Catalog.transaction`). Rejects like `saveProgress`, with
   * nothing written, or with errors of `write`.
   */
  commitBatch(
    step: string,
    write: (session: ClientSession) => Promise<Readonly<Record<string, number>>>,
  ): Promise<void>
  /**
   * Finishes the job, with an error if it has failed for good, or schedules its continuation. A job
   * that was given more work meanwhile continues. Rejects like `saveProgress`.
   */
  end(again: { atMs: number; error?: string } | { failed: string } | null): Promise<void>
}

/** Null if another process has claimed it or it is not due. */
export async function claimJob(stores: JobStores, job: JobDocument): Promise<ClaimedJob | null> {
  const { catalog, clock } = stores
  const token = randomUUID()
  const mine: Partial<JobDocument> = {
    state: 'running',
    token,
    holder: processIdentity(),
    expires: leaseFrom(clock),
    changed: new Date(clock.nowMs()),
  }
  const claimed = await catalog.jobs.findOneAndUpdate(
    { _id: job._id, token: job.token, state: job.state },
    { $set: mine },
    { returnDocument: 'after' },
  )
  return claimed === null ? null : claimedJobOf(stores, claimed)
}

function claimedJobOf({ catalog, clock }: JobStores, claimed: JobDocument): ClaimedJob {
  const { _id, token } = claimed
  const job = { ...claimed, counts: { ...claimed.counts } }
  /** Returns false if the condition does not hold. */
  const store = async (
    fields: Partial<JobDocument>,
    options: { session?: ClientSession } = {},
    condition: Filter<JobDocument> = {},
  ): Promise<boolean> => {
    const changed = new Date(clock.nowMs())
    const expires = leaseFrom(clock)
    const { counts } = job
    const { matchedCount } = await catalog.jobs.updateOne(
      { ...condition, _id, token },
      {
        $set: { counts, ...fields, changed, expires },
        ...(fields.state === 'done' && { $unset: { active: '' as const } }),
      },
      options,
    )
    if (matchedCount > 0) return true
    const isMine = (await catalog.jobs.countDocuments({ _id, token }, options)) > 0
    if (isMine) return false
    throw new JobLostError(`job ${_id.toHexString()} was claimed by another process`)
  }
  const write = async (fields: Partial<JobDocument>, condition?: Filter<JobDocument>) => {
    const isStored = await repeated(() => store(fields, {}, condition), catalog.patience, isAway)
    if (isStored) Object.assign(job, fields)
    return isStored
  }
  return {
    job,
    count(name, added) {
      if (added !== 0) job.counts[name] = (job.counts[name] ?? 0) + added
    },
    async saveProgress(step, position) {
      await write({ step, ...(position && { position }) })
    },
    async commitBatch(step, writeBatch) {
      const counts = await catalog.transaction(`${job.kind}: ${step}`, async (session) => {
        const next = { ...job.counts }
        for (const [name, added] of Object.entries(await writeBatch(session))) {
          if (added !== 0) next[name] = (next[name] ?? 0) + added
        }
        await store({ step, counts: next }, { session })
        return next
      })
      Object.assign(job, { step, counts })
    },
    async end(again) {
      const now = new Date(clock.nowMs())
      if (again === null) {
        const done = { state: 'done', step: 'done', error: '', ended: now, holder: null } as const
        if (await write(done, { again: { $ne: true } })) return
        await write({ state: 'waiting', due: now, error: '', holder: null, again: false })
      } else if ('failed' in again) {
        const failed = { state: 'done', step: 'failed', error: again.failed, ended: now } as const
        await write({ ...failed, holder: null })
      } else {
        const { atMs, error = '' } = again
        await write({ state: 'waiting', due: new Date(atMs), error, holder: null })
      }
    },
  }
}
