/** Accounts that could not be computed or stored. */
import type { AnyBulkWriteOperation, ClientSession } from '../../catalog/collections.ts'
import type { ParkedAccountDocument } from '../../catalog/records/cycle-documents.ts'
import type { RunCycle } from './run-cycle.ts'
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
  const now = new Date(clock.nowMs())
  const writes: AnyBulkWriteOperation<ParkedAccountDocument>[] = failures.map(
    ({ aid, reason }) => ({
      updateOne: {
        filter: { _id: parkedId(run, aid) },
        update: {
          $set: { state: 'parked', reason: reason.slice(0, REASON_LENGTH_MAX), changed: now },
          $setOnInsert: { run, key, aid, since: now },
          $inc: { tries: 1 },
        },
        upsert: true,
      },
    }),
  )
  await catalog.run('park accounts', () => catalog.cycleparked.bulkWrite(writes, { session }))
}

/** Accounts that have succeeded are not parked any more. */
export async function forgetParked(
  { catalog }: RunStores,
  session: ClientSession,
  { id: run }: RunCycle,
  aids: readonly number[],
): Promise<void> {
  if (aids.length === 0) return
  await catalog.run('forget failed accounts', () =>
    catalog.cycleparked.deleteMany(
      { _id: { $in: aids.map((aid) => parkedId(run, aid)) } },
      { session },
    ),
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
  return catalog.run('read failed accounts', () =>
    catalog.cycleparked
      .find({ run, ...(state !== undefined && { state }) })
      .sort({ aid: 1 })
      .limit(limit)
      .toArray(),
  )
}

/** An operator decides that the accounts get no invoice in this cycle; returns how many. */
export async function skipParked(
  { catalog, clock }: RunStores,
  session: ClientSession,
  run: string,
  aids: readonly number[] | null,
): Promise<number> {
  const filter = {
    run,
    state: 'parked' as const,
    ...(aids !== null && { aid: { $in: [...aids] } }),
  }
  const { modifiedCount } = await catalog.run('skip accounts', () =>
    catalog.cycleparked.updateMany(
      filter,
      { $set: { state: 'skipped', changed: new Date(clock.nowMs()) } },
      { session },
    ),
  )
  return modifiedCount
}
