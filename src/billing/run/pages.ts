/**
 * Pages of accounts, claimed by one process at a time. Pages are a chain: the next one begins after
 * the last account of the newest, and its id makes sure that only one process creates it.
 */
import { randomUUID } from 'node:crypto'
import type { ClientSession } from '../../catalog/collections.ts'
import type {
  CyclePageDocument,
  CycleRunDocument,
} from '../../catalog/records/money/cycle-documents.ts'
import { isInserted } from '../../catalog/transactions/duplicate.ts'
import { realTimeOf } from '../../runtime/clock.ts'
import { hasEnded, processIdentity } from '../../runtime/process-identity.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import { type AccountSource, type Customers, FIRST_PAGE } from './account-source.ts'
import type { RunStores } from './runs.ts'

/** Accounts that are read, computed and stored together. */
export const PAGE_SIZE = 100
const LEASE_MS = 60_000
/** Interval of renewing the leases. */
export const RENEW_MS = 15_000

/** Another process has taken over the page, or it is done: nothing was written. */
export class PageLostError extends Error {
  override name = 'PageLostError'
}

type Run = Pick<CycleRunDocument, '_id' | 'generation'>

export interface ClaimedPage {
  readonly page: CyclePageDocument
  /** Revisions of its accounts; undefined if the customer system has to be asked again. */
  readonly customers: Customers | undefined
}

/** The cycle of a run, and where its accounts come from. */
export interface PagedRun {
  readonly cycle: RunCycle
  readonly source: AccountSource
}

/**
 * Claims the first abandoned page, otherwise the next new page. Null if no page can be claimed:
 * other processes may still hold the last ones. Rejects as the source does.
 */
export async function claimPage(
  stores: RunStores,
  run: Run,
  paged: PagedRun,
  size = PAGE_SIZE,
): Promise<ClaimedPage | null> {
  for (;;) {
    const abandoned = await claimAbandoned(stores, run)
    if (abandoned !== null) return { page: abandoned, customers: undefined }
    const created = await createPage(stores, run, paged, size)
    if (created !== 'taken') return created
  }
}

/** Whether all pages are done. */
export async function arePagesDone({ catalog }: RunStores, run: Run): Promise<boolean> {
  const open = await catalog.cyclepages.findOne({
    run: run._id,
    generation: run.generation,
    state: 'claimed',
  })
  return open === null
}

async function claimAbandoned(
  { catalog, clock }: RunStores,
  { _id: run, generation }: Run,
): Promise<CyclePageDocument | null> {
  const nowMs = realTimeOf(clock).nowMs()
  const claimed = await catalog.cyclepages
    .find({ run, generation, state: 'claimed' })
    .sort({ after: 1 })
    .toArray()
  for (const { _id, token, expires, holder } of claimed) {
    if (expires.getTime() > nowMs && !hasEnded(holder)) continue
    const taken = await catalog.cyclepages.findOneAndUpdate(
      { _id, token, state: 'claimed' },
      { $set: claimOf(nowMs) },
      { returnDocument: 'after' },
    )
    if (taken !== null) return taken
  }
  return null
}

async function createPage(
  { catalog, clock }: RunStores,
  { _id: run, generation }: Run,
  { cycle, source }: PagedRun,
  size: number,
): Promise<ClaimedPage | 'taken' | null> {
  const [newest] = await catalog.cyclepages
    .find({ run, generation })
    .sort({ after: -1 })
    .limit(1)
    .toArray()
  if (newest?.next === null) return null
  const after = newest?.to ?? 0
  // Pages of earlier versions have no `next`.
  const place = { after, source: newest?.next ?? FIRST_PAGE }
  const { aids, customers, next } = await source.page(cycle, place, size)
  const to = aids.at(-1)
  if (to === undefined) return null
  const page: CyclePageDocument = {
    _id: `${run}#${generation}:${after}`,
    run,
    generation,
    after,
    to,
    next,
    aids: [...aids],
    state: 'claimed',
    ...claimOf(realTimeOf(clock).nowMs()),
    started: new Date(clock.nowMs()),
    ended: null,
  }
  return (await isInserted(catalog.cyclepages.insertOne(page))) ? { page, customers } : 'taken'
}

function claimOf(nowMs: number): Pick<CyclePageDocument, 'token' | 'holder' | 'expires'> {
  return { token: randomUUID(), holder: processIdentity(), expires: new Date(nowMs + LEASE_MS) }
}

/** Extends the leases of pages that this process still holds. */
export async function renewPages(
  { catalog, clock }: RunStores,
  pages: readonly Pick<CyclePageDocument, 'token'>[],
): Promise<void> {
  if (pages.length === 0) return
  const expires = new Date(realTimeOf(clock).nowMs() + LEASE_MS)
  await catalog.cyclepages.updateMany(
    { token: { $in: pages.map(({ token }) => token) }, state: 'claimed' },
    { $set: { expires } },
  )
}

/** Ends a page, in the transaction of its results. Rejects with `PageLostError`. */
export async function endPage(
  { catalog, clock }: RunStores,
  session: ClientSession,
  { _id, token }: Pick<CyclePageDocument, '_id' | 'token'>,
): Promise<void> {
  const { matchedCount } = await catalog.cyclepages.updateOne(
    { _id, token, state: 'claimed' },
    { $set: { state: 'done', ended: new Date(clock.nowMs()) } },
    { session },
  )
  if (matchedCount !== 1) throw new PageLostError(`page ${_id} was taken over`)
}
