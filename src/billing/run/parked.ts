/** Accounts that could not be computed or stored. */
import type { Actor } from '../../catalog/actor.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { AnyBulkWriteOperation, ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { ParkedAccountDocument } from '../../catalog/records/money/cycle-documents.ts'
import { stateOf } from '../../catalog/transactions/state.ts'
import {
  hasMoneyRules,
  loadMoneyRules,
  type MoneyEvent,
  writeMoneyEvents,
} from '../books/money-events.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import type { RunStores } from './runs.ts'

/** Longer reasons are cut. */
const REASON_LENGTH_MAX = 1_000

interface Failure {
  readonly aid: number
  readonly reason: string
}

/** In the transaction of the other accounts. */
export async function parkAccounts(
  { catalog, clock }: RunStores,
  session: ClientSession,
  { id: run, key }: RunCycle,
  failures: readonly Failure[],
): Promise<void> {
  if (failures.length === 0) return
  const nowMs = clock.nowMs()
  const now = new Date(nowMs)
  await loadMoneyRules(catalog, session)
  if (hasMoneyRules(session)) {
    const added = await newlyParked(catalog, session, run, failures)
    writeMoneyEvents(
      session,
      added.map((failure) => parkedEvent(session, { run, key }, failure)),
      nowMs,
    )
  }
  const writes: AnyBulkWriteOperation<ParkedAccountDocument>[] = failures.map(
    ({ aid, reason }) => ({
      updateOne: {
        filter: { _id: parkedId(run, aid) },
        update: {
          $set: { state: 'parked', reason: shortened(reason), changed: now },
          $setOnInsert: { run, key, aid, since: now },
          $inc: { tries: 1 },
        },
        upsert: true,
      },
    }),
  )
  await catalog.cycleparked.bulkWrite(writes, { session })
}

/** Leaves out accounts that are parked already: they have failed once more. */
async function newlyParked(
  catalog: Catalog,
  session: ClientSession,
  run: string,
  failures: readonly Failure[],
): Promise<Failure[]> {
  const ids = failures.map(({ aid }) => parkedId(run, aid))
  const parked = await catalog.cycleparked
    .find({ _id: { $in: ids }, state: 'parked' }, { session, projection: { aid: 1 } })
    .toArray()
  const known = new Set(parked.map(({ aid }) => aid))
  return failures.filter(({ aid }) => !known.has(aid))
}

/** An account may be parked several times in a run: the version of the head tells them apart. */
function parkedEvent(
  session: ClientSession,
  { run, key }: { readonly run: string; readonly key: string },
  { aid, reason }: Failure,
): MoneyEvent {
  const row = { run, billrun_key: key, reason: shortened(reason) }
  const identity = [parkedId(run, aid), stateOf(session).head.version]
  return { type: 'invoice_parked', identity, aid, row }
}

function shortened(reason: string): string {
  return reason.slice(0, REASON_LENGTH_MAX)
}

/** Accounts that have succeeded are not parked any more. */
export async function forgetParked(
  { catalog }: RunStores,
  session: ClientSession,
  { id: run }: RunCycle,
  aids: readonly number[],
): Promise<void> {
  if (aids.length === 0) return
  await catalog.cycleparked.deleteMany(
    { _id: { $in: aids.map((aid) => parkedId(run, aid)) } },
    { session },
  )
}

export function parkedId(run: string, aid: number): string {
  return `${run}:${aid}`
}

export interface ParkedQuery {
  readonly run: string
  readonly state?: ParkedAccountDocument['state']
  readonly limit?: number
}

export function readParked(
  { catalog }: Pick<RunStores, 'catalog'>,
  { run, state, limit = 10_000 }: ParkedQuery,
): Promise<ParkedAccountDocument[]> {
  return catalog.cycleparked
    .find({ run, ...(state !== undefined && { state }) })
    .sort({ aid: 1 })
    .limit(limit)
    .toArray()
}

/** An operator decides that the accounts get no invoice in this cycle; returns how many. */
export function skipParked(
  { catalog, clock }: RunStores,
  run: string,
  aids: readonly number[] | null,
  actor: Actor,
): Promise<number> {
  const filter = {
    run,
    state: 'parked' as const,
    ...(aids !== null && { aid: { $in: [...aids] } }),
  }
  return catalog.transaction('skip accounts', async (session) => {
    const nowMs = clock.nowMs()
    const { modifiedCount: count } = await catalog.cycleparked.updateMany(
      filter,
      { $set: { state: 'skipped', changed: new Date(nowMs) } },
      { session },
    )
    const entry = { collection: 'billrun', type: 'skip', key: run, new: { aids, count } }
    if (count > 0) appendAudit(session, actor, nowMs, entry)
    return count
  })
}
