/** The job of rerating: prices the recorded usage of a selection again. */
import { createLiveCatalogue } from '../billing/quote/live-catalogue.ts'
import { type QuoteSettings, settingsOf } from '../billing/quote/settings.ts'
import { openRerateSource } from '../billing/rerate/account-prices.ts'
import { type RerateSelection, selectedAccounts } from '../billing/rerate/preview.ts'
import { RerateRun, rerateIdOf } from '../billing/rerate/run.ts'
import type { OpenAccounts } from '../billing/run/account-source.ts'
import type { Actor } from '../catalog/actor.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { JobDocument } from '../catalog/records/job-document.ts'
import type { Config } from '../config/schema.ts'
import { cycleEndMs } from '../domain/cycle.ts'
import type { Fields } from '../domain/fields.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { beginJob, JobFailedError, type JobStores, type NewJob } from './jobs.ts'
import type { JobHandler } from './runner.ts'

export const EXTERNAL_SUBSCRIBERS = 'the customer system has the subscribers: usage is not rerated'

export interface RerateJobParts {
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly clock: Clock
  readonly config: Pick<Config, 'rating' | 'ledger' | 'retention'>
  readonly openAccounts: OpenAccounts
  /** The conditions of a queued request, as a filter of lines. Throws if they are not one. */
  readonly filterOf: (conditions: Fields) => Fields
  /** Lines of one commit. */
  readonly linesMax?: number
}

/** `toMs` null: until it is begun. */
export type RerateRequest = Omit<RerateSelection, 'toMs'> & { readonly toMs: number | null }

/**
 * Begins a run, or returns the one for the same lines that is not done; null if another one is not
 * done.
 */
export async function beginRerate(
  stores: JobStores,
  order: RerateRequest,
  actor: Actor,
): Promise<JobDocument | null> {
  // The line of a request of this millisecond is included.
  const selection = { ...order, toMs: order.toMs ?? stores.clock.nowMs() + 1 }
  const job = await beginJob(stores, rerateJob(selection, actor))
  const { selection: own } = job.options as unknown as RerateOptions
  const names = Object.keys(order) as (keyof RerateRequest)[]
  const isSame = names.every((name) => order[name] === null || order[name] === own?.[name])
  return isSame ? job : null
}

interface RerateOptions {
  /** Null for queued requests alone, which every run works off. */
  readonly selection: RerateSelection | null
}

/** There is one such job at a time. */
export function rerateJob(selection: RerateSelection | null, actor: Actor): NewJob {
  const options = { selection }
  return { kind: 'rerate', subject: 'usage', options, actor, ...(!selection && { hasWork: true }) }
}

/** Waiting for the recorder, and a large account, may take longer than the lease of a job. */
const RENEW_MS = 20_000

export function rerateHandler(parts: RerateJobParts): JobHandler {
  const { catalog, ledger, clock, config } = parts
  return async (claimed, signal) => {
    const timer = setInterval(() => {
      claimed.saveProgress(claimed.job.step).catch(() => undefined)
    }, RENEW_MS)
    const settings = settingsOf(config.rating)
    // Entities that do not compile are in the log of the processes that charge.
    const log = createLogger({ name: 'rerate', level: 'silent' })
    const catalogue = createLiveCatalogue({ catalog, log, settings })
    try {
      const job = { id: claimed.job._id, actor: claimed.job.actor, store: claimed.commitBatch }
      const runNow = async () => {
        const source = await openRerateSource({ catalog, catalogue, nowMs: clock.nowMs() }, config)
        const { operationKeepMs } = config.ledger
        const now = () => clock.nowMs()
        const { linesMax } = parts
        const more = { ledger, operationKeepMs, now, ...(linesMax && { linesMax }) }
        return new RerateRun({ ...source, ...more }, job)
      }
      const run = await runNow()
      await run.resume()
      // The accounts that earlier runs have found right are of no use any more.
      await catalog.rerates.deleteMany({ state: 'unchanged', job: { $ne: claimed.job._id } })
      if ((await parts.openAccounts()).isExternal) throw new JobFailedError(EXTERNAL_SUBSCRIBERS)
      const { selection } = claimed.job.options as unknown as RerateOptions
      if (selection !== null) {
        await run.rerate(await run.halfDone(), signal)
        await run.rerate(await selectedAccounts(catalog, selection), signal)
      }
      await rerateQueued(parts, settings, runNow, signal)
    } finally {
      clearInterval(timer)
      await catalogue.stop()
    }
    return signal.aborted ? clock.nowMs() : null
  }
}

/** Works off the requests that wait, also those that are added meanwhile. */
async function rerateQueued(
  { catalog, filterOf, clock }: RerateJobParts,
  { timeZone, cycleDay, cycleAt }: QuoteSettings,
  runNow: () => Promise<RerateRun>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const queued = await catalog.rebalance.findOne({ state: 'waiting' }, { sort: { _id: 1 } })
    if (queued === null) return
    const { _id, aid, billrun_key: cycle, stamp } = queued
    const nowMs = clock.nowMs()
    const endMs = cycleEndMs(cycle, timeZone, cycleDay) ?? 0
    const isOpen = endMs > cycleAt(nowMs, nowMs).oldestMs
    const conditions = filterOf(JSON.parse(queued.conditions) as Fields)
    const filter = { $and: [conditions, { aid, billrun: cycle, type: 'realtime' }] }
    const hasLines = isOpen && (await catalog.lines.findOne(filter as Fields)) !== null
    const request = _id.toHexString()
    // By the catalogue of now: it may have changed since the job was begun.
    if (hasLines) await (await runNow()).rerate([{ aid, cycle, request }], signal)
    if (signal.aborted) return
    const row = await catalog.rerates.findOne({ _id: rerateIdOf(request, { aid, cycle }) })
    const reason = !isOpen
      ? 'the cycle is closed'
      : !hasLines
        ? 'no line of usage matches'
        : (row?.refused[0]?.text ?? '')
    // Its stamp is free for another request.
    const ended = {
      state: reason === '' ? 'done' : 'failed',
      reason,
      ended: new Date(nowMs),
    } as const
    await catalog.rebalance.updateOne(
      { _id, state: 'waiting' },
      { $set: { ...ended, stamp: `${stamp}/${request}` } },
    )
  }
}
