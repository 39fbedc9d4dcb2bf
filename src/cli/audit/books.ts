/** Checks the bills, their links and the balances of all accounts against the journal. */
import {
  type BooksDifference,
  booksDifferenceText,
  checkBooks,
  checkBooksAt,
  type RecordedBooks,
} from '../../billing/audit/check-books.ts'
import { NO_TOTALS } from '../../billing/books/account-books.ts'
import { billOf } from '../../billing/books/bill.ts'
import { postingOf } from '../../billing/books/journal.ts'
import { totalsOf } from '../../billing/books/store-books.ts'
import type { MoneyFormat } from '../../billing/currency.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { Unread } from './unread.ts'

export interface BooksReport {
  ok: boolean
  accounts: number
  bills: number
  postings: number
  differences: (BooksDifference & { readonly aid: number })[]
  /** Differences beyond those listed. */
  differencesLeftOut: number
  /** Accounts that kept changing during the check. */
  moving: number[]
}

const LISTED_MAX = 1_000
const ATTEMPTS_MAX = 5

/**
 * `at`: also compares the balances at this time. Accounts that cannot be read are named in
 * `unread`. Throws `CatalogUnavailableError`.
 */
export async function auditBooks(
  catalog: Catalog,
  at: Date | null,
  unread = new Unread(),
): Promise<BooksReport> {
  const report: BooksReport = {
    ok: true,
    accounts: 0,
    bills: 0,
    postings: 0,
    differences: [],
    differencesLeftOut: 0,
    moving: [],
  }
  for await (const aid of accountsWithBills(catalog)) {
    report.accounts += 1
    const records = await unread.orName(`books of account ${aid}`, async () => {
      return (await readStill(catalog, aid)) ?? 'moving'
    })
    if (records === null) continue
    if (records === 'moving') {
      report.moving.push(aid)
      continue
    }
    report.bills += records.bills.length
    report.postings += records.postings.length
    const found = [...checkBooks(records), ...(at === null ? [] : checkBooksAt(records, at))]
    for (const difference of found) {
      if (report.differences.length < LISTED_MAX) report.differences.push({ aid, ...difference })
      else report.differencesLeftOut += 1
    }
  }
  report.ok = [report.differences, report.moving, unread.parts].every(({ length }) => length === 0)
  return report
}

/** Ascending. */
async function* accountsWithBills(catalog: Catalog): AsyncGenerator<number> {
  const next = async (after: number): Promise<number | null> => {
    const [bill, books] = await Promise.all([
      catalog.bills
        .find({ aid: { $gt: after } }, { projection: { aid: 1 } })
        .sort({ aid: 1 })
        .limit(1)
        .toArray(),
      catalog.books
        .find({ _id: { $gt: after } }, { projection: { _id: 1 } })
        .sort({ _id: 1 })
        .limit(1)
        .toArray(),
    ])
    const found = [...bill.map(({ aid }) => aid), ...books.map(({ _id }) => _id)]
    return found.length === 0 ? null : Math.min(...found)
  }
  for (let aid = await next(-1); aid !== null; aid = await next(aid)) yield aid
}

/** The records of an account between two changes; null if it keeps changing. */
async function readStill(catalog: Catalog, aid: number): Promise<RecordedBooks | null> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const before = await readBooks(catalog, aid)
    const records = await catalog.run('read the journal of an account', async () => {
      const bills = await catalog.unguarded.bills.find({ aid }).toArray()
      const postings = await catalog.unguarded.journal.find({ aid }).sort({ number: 1 }).toArray()
      return { bills: bills.map(billOf), postings: postings.map(postingOf) }
    })
    const after = await readBooks(catalog, aid)
    if (before.number === after.number) return { aid, ...after, ...records }
  }
  return null
}

async function readBooks(
  catalog: Catalog,
  aid: number,
): Promise<Pick<RecordedBooks, 'number' | 'totals'>> {
  const books = await catalog.books.findOne({ _id: aid })
  if (books === null) return { number: 0, totals: NO_TOTALS }
  return { number: books.number, totals: totalsOf(books.totals) }
}

export function booksLines(
  { accounts, bills, postings, ...found }: BooksReport,
  money: MoneyFormat,
): string[] {
  const { differences, differencesLeftOut: left, moving, ok } = found
  return [
    `books: accounts ${accounts}, bills ${bills}, postings ${postings}`,
    ...differences.map(
      (difference) => `account ${difference.aid}: ${booksDifferenceText(difference, money)}`,
    ),
    ...(left > 0 ? [`and ${left} more`] : []),
    ...moving.map((aid) => `account ${aid}: kept changing, and its books were not checked`),
    ok
      ? 'the books agree'
      : differences.length + moving.length > 0
        ? 'the books do not agree'
        : 'the books that were read agree',
  ]
}
