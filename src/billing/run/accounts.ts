/** Accounts that are stored in MongoDB, in the order of their numbers. */
import type { Filter } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import { type AccountSource, FIRST_PAGE } from './account-source.ts'

/** Revisions are read together with the lines, by the thread that computes the invoices. */
export function storedAccounts(catalog: Catalog): AccountSource {
  return {
    isExternal: false,
    count: (run) => countAccounts(catalog, run),
    async page(run, { after }, size) {
      const aids = await accountsAfter(catalog, run, after, size)
      return { aids, customers: null, next: aids.length === 0 ? null : FIRST_PAGE }
    },
    customers: async () => null,
    customerAt: async () => null,
  }
}

/** Revisions of accounts and subscribers that began before the end of the cycle. */
function revisionsOf({ cycle, invoicingDay, installedDay }: RunCycle): Filter<object> {
  const begun = { from: { $lt: new Date(cycle.endMs) }, deleted: { $ne: true } }
  if (invoicingDay === null) return begun
  const days: unknown[] = [invoicingDay, String(invoicingDay)]
  if (invoicingDay === installedDay) days.push(null, '')
  // The revision at the end of the cycle decides, when the account is read.
  return { ...begun, type: 'account', invoicing_day: { $in: days } }
}

/** Counts accounts, including ended ones: their last usage and credits are still invoiced. */
async function countAccounts(catalog: Catalog, run: RunCycle): Promise<number> {
  const found = await catalog.reads.subscribers
    .aggregate<{ count: number }>([
      { $match: { aid: { $gt: 0 }, ...revisionsOf(run) } },
      { $group: { _id: '$aid' } },
      { $count: 'count' },
    ])
    .toArray()
  return found[0]?.count ?? 0
}

/** Numbers of the next accounts after `after`, at most `size`. */
async function accountsAfter(
  catalog: Catalog,
  run: RunCycle,
  after: number,
  size: number,
): Promise<number[]> {
  const aids: number[] = []
  for (let last = after; aids.length < size; ) {
    const missing = size - aids.length
    const found = await catalog.subscribers
      .find({ aid: { $gt: last }, ...revisionsOf(run) } as never, {
        projection: { _id: 0, aid: 1 },
      })
      .sort({ aid: 1 })
      .limit(missing * REVISIONS_PER_ACCOUNT)
      .toArray()
    const distinct = [...new Set(found.map(({ aid }) => aid as number))].slice(0, missing)
    aids.push(...distinct)
    last = aids.at(-1) ?? last
    if (found.length < missing * REVISIONS_PER_ACCOUNT && distinct.length < missing) break
    if (distinct.length === 0) break
  }
  return aids
}

/** Revisions read per missing account; accounts with more need further reads. */
const REVISIONS_PER_ACCOUNT = 5
