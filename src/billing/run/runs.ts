/** Runs of cycles in MongoDB: begun, continued, paused, finished, reset. */
import { hostname } from 'node:os'
import { type Actor, plainActor } from '../../catalog/actor.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { CycleCounts, CycleRunDocument } from '../../catalog/records/money/cycle-documents.ts'
import { type Clock, realTimeOf } from '../../runtime/clock.ts'
import { hasEnded } from '../../runtime/process-identity.ts'
import { type RunCycle, runIdOf } from '../cycle/run-cycle.ts'
import { BillingError } from '../errors.ts'
import { invoicesOf } from '../invoices/stored-invoice.ts'
import type { OpenAccounts } from './account-source.ts'

export interface RunStores {
  readonly catalog: Catalog
  readonly clock: Clock
}

export interface NewRun {
  readonly cycle: RunCycle
  /** Whether invoices of an earlier run are replaced. */
  readonly rerun: boolean
  readonly generatePdf: boolean
  readonly actor: Actor
}

export const NO_COUNTS: CycleCounts = {
  accounts: 0,
  invoices: 0,
  empty: 0,
  confirmed: 0,
  failed: 0,
}

export function readRun({ catalog }: Pick<RunStores, 'catalog'>, id: string) {
  return catalog.cycleruns.findOne({ _id: id })
}

/** Whether a process is working on the run. */
export async function isAttended(
  { catalog, clock }: RunStores,
  { _id: run, generation }: CycleRunDocument,
): Promise<boolean> {
  const claimed = await catalog.cyclepages.find({ run, generation, state: 'claimed' }).toArray()
  const nowMs = realTimeOf(clock).nowMs()
  return claimed.some(({ expires, holder }) => expires.getTime() > nowMs && !hasEnded(holder))
}

export interface RunParts extends RunStores {
  readonly openAccounts: OpenAccounts
}

/**
 * Begins the run, or continues one that is paused or whose processes have ended. Throws
 * `BillingError` if it is finished and `rerun` is false.
 */
export async function beginRun(
  stores: RunParts,
  { cycle, rerun, generatePdf, actor }: NewRun,
): Promise<CycleRunDocument> {
  const { catalog, clock } = stores
  const total = await (await stores.openAccounts()).count(cycle)
  return catalog.transaction('begin a run of the cycle', async (session) => {
    const now = new Date(clock.nowMs())
    const found = await catalog.cycleruns.findOne({ _id: cycle.id }, { session })
    if (found !== null && found.state !== 'finished')
      return continued(stores, session, found, actor)
    if (!rerun && (found !== null || (await hasInvoices(catalog, cycle, session)))) {
      throw new BillingError('For rerun pass rerun value as true', { path: 'rerun' })
    }
    const document: CycleRunDocument = {
      _id: cycle.id,
      key: cycle.key,
      invoicing_day: cycle.invoicingDay,
      generation: (await lastGeneration(catalog, cycle.id, session)) + 1,
      host: hostname(),
      state: 'running',
      reason: '',
      total,
      counts: NO_COUNTS,
      continued: NO_COUNTS,
      generate_pdf: generatePdf,
      actor: plainActor(actor),
      started: now,
      changed: now,
      ended: null,
    }
    await catalog.cycleruns.replaceOne({ _id: cycle.id }, document, { session, upsert: true })
    // A run computes all accounts, those that failed before too.
    await catalog.cycleparked.deleteMany({ run: cycle.id }, { session })
    audit(session, actor, now, cycle.id, found === null ? 'run' : 'rerun')
    return document
  })
}

async function continued(
  { catalog, clock }: RunStores,
  session: ClientSession,
  found: CycleRunDocument,
  actor: Actor,
): Promise<CycleRunDocument> {
  if (found.state === 'running') return found
  const now = new Date(clock.nowMs())
  const fields = {
    state: 'running',
    reason: '',
    continued: found.counts,
    changed: now,
  } as const
  await catalog.cycleruns.updateOne({ _id: found._id }, { $set: fields }, { session })
  audit(session, actor, now, found._id, 'continue')
  return { ...found, ...fields }
}

/** Pages of earlier runs stay until the next one: their numbers must not be used again. */
async function lastGeneration(
  catalog: Catalog,
  run: string,
  session: ClientSession,
): Promise<number> {
  const [newest] = await catalog.cyclepages
    .find({ run }, { session })
    .sort({ generation: -1 })
    .limit(1)
    .toArray()
  const stored = await catalog.cycleruns.findOne({ _id: run }, { session })
  return Math.max(newest?.generation ?? 0, stored?.generation ?? 0)
}

async function hasInvoices(
  catalog: Catalog,
  cycle: RunCycle,
  session: ClientSession,
): Promise<boolean> {
  const found = await catalog.billrun.findOne(invoicesOf(cycle), {
    session,
    projection: { _id: 1 },
  })
  return found !== null
}

/** Pauses a run that is running; the first reason stays. */
export async function pauseRun(
  { catalog, clock }: RunStores,
  id: string,
  reason: string,
): Promise<void> {
  await catalog.cycleruns.updateOne(
    { _id: id, state: 'running' },
    { $set: { state: 'paused', reason, changed: new Date(clock.nowMs()) } },
  )
}

/** An operator pauses a run; false, and nothing is changed, if it is not running. */
export function pauseByHand(
  { catalog, clock }: RunStores,
  { id }: RunCycle,
  actor: Actor,
): Promise<boolean> {
  return catalog.transaction('pause a run of the cycle', async (session) => {
    const now = new Date(clock.nowMs())
    const fields = { state: 'paused', reason: `paused by ${actor.name}`, changed: now } as const
    const { modifiedCount } = await catalog.cycleruns.updateOne(
      { _id: id, state: 'running' },
      { $set: fields },
      { session },
    )
    if (modifiedCount === 0) return false
    audit(session, actor, now, id, 'pause')
    return true
  })
}

export async function finishRun(
  { catalog, clock }: RunStores,
  { _id, generation, total, counts }: CycleRunDocument,
): Promise<void> {
  const now = new Date(clock.nowMs())
  const ended = { state: 'finished', ended: now, changed: now } as const
  const known = total === 0 ? { total: counts.accounts } : {}
  await catalog.cycleruns.updateOne(
    { _id, generation, state: 'running' },
    { $set: { ...ended, ...known } },
  )
  await catalog.cyclepages.deleteMany({ run: _id, generation: { $lt: generation } })
}

/**
 * Removes the progress of a finished run; its invoices stay until the next one replaces them.
 * Returns false, and changes nothing, if it is not finished.
 */
export async function resetRun(
  { catalog, clock }: RunStores,
  cycle: RunCycle,
  actor: Actor,
): Promise<boolean> {
  const id = runIdOf(cycle)
  return catalog.transaction('reset a run of the cycle', async (session) => {
    const { deletedCount } = await catalog.cycleruns.deleteOne(
      { _id: id, state: 'finished' },
      { session },
    )
    if (deletedCount === 0) return false
    await catalog.cycleparked.deleteMany({ run: id }, { session })
    audit(session, actor, new Date(clock.nowMs()), id, 'reset')
    return true
  })
}

function audit(session: ClientSession, actor: Actor, now: Date, id: string, type: string): void {
  appendAudit(session, actor, now.getTime(), { collection: 'billrun', type, key: id })
}
