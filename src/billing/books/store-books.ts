/** Loads the books of an account in a transaction, and writes what an operation has changed. */
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { AnyBulkWriteOperation, ClientSession, Filter } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillDocument } from '../../catalog/entities/bill.ts'
import { exactAmount, storedAmount } from '../../catalog/records/exact-amount.ts'
import { AccountBooks, type BooksTotals, type Cause, NO_TOTALS } from './account-books.ts'
import { type Bill, type BillRef, billOf, documentOf, keyOf, refOf } from './bill.ts'
import { postingDocument } from './journal.ts'

/** A transaction of the catalogue, and why it is made. */
export interface BooksWriter extends Cause {
  readonly catalog: Catalog
  readonly session: ClientSession
}

/** Bills that an operation names. */
export interface NamedBills {
  readonly refs?: readonly BillRef[]
  /** Further ones, such as those of an agreement. */
  readonly filter?: Filter<BillDocument>
}

/** Debts and credits with something open or reserved. */
const OPEN = { paid: { $in: ['0', '2'] } } as const satisfies Filter<BillDocument>

/** The open bills of the account, the named ones, and all bills linked to these. */
export async function loadBooks(
  { catalog, session, ...cause }: BooksWriter,
  aid: number,
  named: NamedBills = {},
): Promise<AccountBooks> {
  const find = (filter: Filter<BillDocument>) =>
    catalog.run('read bills', () =>
      catalog.bills.find({ aid, ...filter } as Filter<BillDocument>, { session }).toArray(),
    )
  const bills = new Map<string, Bill>()
  const add = (documents: readonly BillDocument[]) => {
    for (const document of documents) {
      const bill = billOf(document)
      const key = keyOf(refOf(bill))
      if (!bills.has(key)) bills.set(key, bill)
    }
  }
  add(await find(OPEN as Filter<BillDocument>))
  const { refs = [], filter } = named
  if (filter !== undefined) add(await find(filter))
  add(
    await findRefs(
      find,
      refs.filter((ref) => !bills.has(keyOf(ref))),
    ),
  )
  const partners = refs.flatMap((ref) => bills.get(keyOf(ref))?.links ?? [])
  add(
    await findRefs(
      find,
      partners.filter((ref) => !bills.has(keyOf(ref))),
    ),
  )
  const books = await catalog.run('read the books of an account', () =>
    catalog.books.findOne({ _id: aid }, { session }),
  )
  const totals = books === null ? NO_TOTALS : totalsOf(books.totals)
  return new AccountBooks(
    { aid, number: books?.number ?? 0, totals, bills: [...bills.values()] },
    cause,
  )
}

async function findRefs(
  find: (filter: Filter<BillDocument>) => Promise<BillDocument[]>,
  refs: readonly BillRef[],
): Promise<BillDocument[]> {
  const idsOf = (type: BillRef['type']) => [
    ...new Set(refs.filter((ref) => ref.type === type).map(({ id }) => id)),
  ]
  const numbers = idsOf('inv').map(Number)
  const txids = idsOf('rec').map(String)
  return [
    ...(numbers.length > 0 ? await find({ type: 'inv', invoice_id: { $in: numbers } }) : []),
    ...(txids.length > 0 ? await find({ txid: { $in: txids } }) : []),
  ]
}

/** The totals of a stored document. */
export function totalsOf(stored: Readonly<Record<keyof BooksTotals, unknown>>): BooksTotals {
  return {
    receivable: exactAmount(stored.receivable),
    credit: exactAmount(stored.credit),
    deposit: exactAmount(stored.deposit),
    gateway: exactAmount(stored.gateway),
  }
}

/** Writes bills, postings, totals and an audit record. */
export async function saveBooks(
  { catalog, session, actor, nowMs, reason }: BooksWriter,
  books: AccountBooks,
  type: string,
): Promise<void> {
  const { aid, changed, postings, totals, number } = books
  if (changed.size === 0 && postings.length === 0) return
  const added = [...changed].filter(({ isNew }) => isNew).map(documentOf)
  const replaced = [...changed].filter(({ isNew }) => !isNew).map(replaceOne)
  if (added.length > 0) {
    await catalog.run('write bills', () => catalog.bills.insertMany(added, { session }))
  }
  if (replaced.length > 0) {
    await catalog.run('write bills', () => catalog.bills.bulkWrite(replaced, { session }))
  }
  if (postings.length > 0) {
    await catalog.run('write postings', () =>
      catalog.journal.insertMany(postings.map(postingDocument), { session }),
    )
  }
  const stored = {
    number,
    totals: {
      receivable: storedAmount(totals.receivable),
      credit: storedAmount(totals.credit),
      deposit: storedAmount(totals.deposit),
      gateway: storedAmount(totals.gateway),
    },
  }
  await catalog.run('write the books of an account', () =>
    catalog.books.replaceOne({ _id: aid }, stored, { session, upsert: true }),
  )
  appendAudit(session, actor, nowMs, {
    collection: 'bills',
    type,
    key: String(aid),
    new: {
      aid,
      bills: [...changed].map((bill) => keyOf(refOf(bill))),
      postings: postings.map(({ id }) => id),
      ...(reason === undefined ? {} : { reason }),
    },
  })
}

function replaceOne(bill: Bill): AnyBulkWriteOperation<BillDocument> {
  const { _id, ...replacement } = documentOf(bill)
  const filter = { _id } as Filter<BillDocument>
  return { replaceOne: { filter, replacement: replacement as BillDocument } }
}
