/** Loads the books of an account in a transaction, and writes what an operation has changed. */
import { appendAudit } from '../../catalog/audit/audit.ts'
import { type ClientSession, type Filter, ObjectId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillDocument } from '../../catalog/records/money/bill.ts'
import { type Exact, exactAmount, storedAmount } from '../../catalog/records/money/exact-amount.ts'
import { stateOf } from '../../catalog/transactions/state.ts'
import { sumOf } from '../amount.ts'
import {
  AccountBooks,
  type BooksTotals,
  type Cause,
  NO_TOTALS,
  type StoredBooks,
} from './account-books.ts'
import {
  type Bill,
  type BillRef,
  billOf,
  documentOf,
  isActive,
  isDebt,
  keyOf,
  openAmount,
  refOf,
} from './bill.ts'
import { bookEvents } from './book-events.ts'
import { postingDocument } from './journal.ts'
import { hasMoneyRules, loadMoneyRules, writeMoneyEvents } from './money-events.ts'

/** A transaction of the catalogue, and why it is made. */
export interface BooksWriter extends Cause {
  /** Numeric code of the currency of all bills. */
  readonly currencyCode: number
  readonly catalog: Catalog
  readonly session: ClientSession
}

/** Bills that an operation names. */
export interface NamedBills {
  readonly refs?: readonly BillRef[]
  /**
   * The operation covers debts by at most this amount, in addition to open credit: the oldest debts
   * of it are sufficient. Absent: all open debts are loaded.
   */
  readonly covers?: Exact
}

/** Books in the memory of a transaction. */
interface LoadedBooks extends StoredBooks {
  /** The account has no books yet. */
  readonly isNew: boolean
  /** Not all open debts are loaded, but the oldest ones and all credits. */
  readonly isPartial: boolean
}

/** Debts and credits with something open or reserved. */
const OPEN = { paid: { $in: ['0', '2'] } } as const

/** Accounts with more open bills are loaded in part. */
const OPEN_MAX = 200
/** Open bills of several accounts that are read together, as a multiple. */
const ACCOUNTS_TOGETHER = 5

/**
 * The open bills of the account, the named ones, and all bills linked to these. Several operations
 * of a transaction see the changes of each other.
 */
export async function loadBooks(
  writer: BooksWriter,
  aid: number,
  { refs = [], covers }: NamedBills = {},
): Promise<AccountBooks> {
  const { catalog, session, currencyCode, ...cause } = writer
  const { memory } = stateOf(session)
  await loadMoneyRules(catalog, session)
  let stored = memory.get(keyOfBooks(aid)) as LoadedBooks | undefined
  if (stored === undefined) {
    await prefetchBooks(catalog, session, [aid])
    stored = memory.get(keyOfBooks(aid)) as LoadedBooks
  }
  if (stored.isPartial && (covers === undefined || !suffices(stored, covers))) {
    stored = await loadAllOpen(catalog, session, stored)
  }
  const named = await loadNamed(catalog, session, stored, refs)
  memory.set(keyOfBooks(aid), named)
  return new AccountBooks(named, cause, currencyCode)
}

/** Reads the books of several accounts with few commands, for operations that follow. */
export async function prefetchBooks(
  catalog: Catalog,
  session: ClientSession,
  aids: readonly number[],
): Promise<void> {
  const { memory } = stateOf(session)
  const missing = [...new Set(aids)].filter((aid) => !memory.has(keyOfBooks(aid)))
  if (missing.length === 0) return
  const books = await catalog.books.find({ _id: { $in: missing } }, { session }).toArray()
  const limit = OPEN_MAX * Math.min(missing.length, ACCOUNTS_TOGETHER)
  const filter = { aid: { $in: missing }, ...OPEN }
  const open = await findBills(catalog, session, filter, { limit: limit + 1 })
  for (const aid of missing) {
    const found = books.find(({ _id }) => _id === aid)
    const common = {
      aid,
      isNew: found === undefined,
      number: found?.number ?? 0,
      totals: found === undefined ? NO_TOTALS : totalsOf(found.totals),
    }
    const stored: LoadedBooks =
      open.length <= limit
        ? { ...common, bills: open.filter(({ fields }) => fields.aid === aid), isPartial: false }
        : { ...common, ...(await loadOldest(catalog, session, aid)) }
    memory.set(keyOfBooks(aid), stored)
  }
}

function keyOfBooks(aid: number): string {
  return `books/${aid}`
}

/** Reserved bills, all open credits, and at least the oldest open debts. */
async function loadOldest(
  catalog: Catalog,
  session: ClientSession,
  aid: number,
): Promise<Pick<LoadedBooks, 'bills' | 'isPartial'>> {
  const reserved = await findBills(catalog, session, { aid, paid: '2' })
  const oldestFirst = { sort: { urt: 1 }, limit: OPEN_MAX } as const
  const found = await findBills(catalog, session, { aid, paid: '0' }, oldestFirst)
  if (found.length < OPEN_MAX) return { bills: [...reserved, ...found], isPartial: false }
  // More bills of the last instant may follow, and their order is by number.
  const lastMs = found.at(-1)?.fields.urt.getTime() ?? 0
  const oldest = found.filter(({ fields }) => fields.urt.getTime() < lastMs)
  return { bills: [...reserved, ...oldest], isPartial: true }
}

/** Whether the loaded debts are at least the amount and all open credit. */
function suffices({ bills, totals }: LoadedBooks, covers: Exact): boolean {
  const active = bills.filter(isActive)
  const credit = sumOf(active.filter(({ due }) => due.lessThan(0)).map(openAmount))
  if (!credit.equals(totals.credit.negated())) return false
  const debts = sumOf(active.filter(isDebt).map(openAmount))
  return debts.greaterThanOrEqualTo(covers.plus(credit))
}

async function loadAllOpen(
  catalog: Catalog,
  session: ClientSession,
  stored: LoadedBooks,
): Promise<LoadedBooks> {
  const open = await findBills(catalog, session, { aid: stored.aid, ...OPEN })
  return { ...stored, bills: merged(stored.bills, open), isPartial: false }
}

/** With the bills and those linked to them. */
async function loadNamed(
  catalog: Catalog,
  session: ClientSession,
  stored: LoadedBooks,
  refs: readonly BillRef[],
): Promise<LoadedBooks> {
  const { aid } = stored
  let { bills } = stored
  const load = async (absent: readonly BillRef[]) => {
    const known = new Set(bills.map((bill) => keyOf(refOf(bill))))
    const missing = absent.filter((ref) => !known.has(keyOf(ref)))
    for (const filter of filtersOf(missing)) {
      bills = merged(bills, await findBills(catalog, session, { aid, ...filter }))
    }
  }
  if (refs.length === 0) return stored
  await load(refs)
  const named = new Set(refs.map(keyOf))
  await load(bills.filter((bill) => named.has(keyOf(refOf(bill)))).flatMap(({ links }) => links))
  return { ...stored, bills }
}

/** Known bills may have been changed by the transaction already. */
function merged(known: readonly Bill[], found: readonly Bill[]): Bill[] {
  const keys = new Set(known.map((bill) => keyOf(refOf(bill))))
  return [...known, ...found.filter((bill) => !keys.has(keyOf(refOf(bill))))]
}

function filtersOf(refs: readonly BillRef[]): object[] {
  const idsOf = (type: BillRef['type']) => [
    ...new Set(refs.filter((ref) => ref.type === type).map(({ id }) => id)),
  ]
  const numbers = idsOf('inv').map(Number)
  const txids = idsOf('rec').map(String)
  return [
    ...(numbers.length > 0 ? [{ type: 'inv', invoice_id: { $in: numbers } }] : []),
    ...(txids.length > 0 ? [{ txid: { $in: txids } }] : []),
  ]
}

async function findBills(
  catalog: Catalog,
  session: ClientSession,
  filter: object,
  options: { readonly sort?: { readonly urt: 1 }; readonly limit?: number } = {},
): Promise<Bill[]> {
  const found = await catalog.bills
    .find(filter as Filter<BillDocument>, { ...options, session })
    .toArray()
  return found.map(billOf)
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

/**
 * Writes bills, postings, totals, an audit record, and the events of money that follow from the
 * postings, at the end of the transaction.
 */
export function saveBooks(writer: BooksWriter, books: AccountBooks, type: string): void {
  const { session, actor, nowMs, reason, currencyCode } = writer
  const { aid, changed, postings, totals, number } = books
  if (changed.size === 0 && postings.length === 0) return
  const { writes, memory } = stateOf(session)
  const before = memory.get(keyOfBooks(aid)) as LoadedBooks
  if (hasMoneyRules(session)) {
    writeMoneyEvents(session, bookEvents(before, books, currencyCode), nowMs)
  }
  for (const bill of changed) {
    if (bill.isNew) bill.fields['_id'] ??= new ObjectId()
    writes.put('bills', documentOf(bill) as BillDocument & { _id: ObjectId }, bill.isNew)
  }
  writes.add('journal', postings.map(postingDocument))
  const stored = {
    _id: aid,
    number,
    totals: {
      receivable: storedAmount(totals.receivable),
      credit: storedAmount(totals.credit),
      deposit: storedAmount(totals.deposit),
      gateway: storedAmount(totals.gateway),
    },
  }
  writes.put('books', stored, before.isNew)
  const bills = [...books.bills()].map((bill) => ({ ...bill, isNew: false }))
  memory.set(keyOfBooks(aid), { ...before, number, totals: { ...totals }, bills })
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
