/** The events that follow from a change of books. Pure. */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { MoneyEventType } from '../../domain/events/money.ts'
import { sumOf } from '../amount.ts'
import type { AccountBooks, StoredBooks } from './account-books.ts'
import { type Bill, isUnconfirmed, keyOf, refOf } from './bill.ts'
import { billRow } from './bill-row.ts'
import type { Posting } from './journal.ts'
import type { MoneyEvent } from './money-events.ts'
import { isOwed, isPastDue, overdueEvent } from './overdue.ts'

/** `before`: the books before the change. `currencyCode`: numeric. */
export function bookEvents(
  before: StoredBooks,
  books: AccountBooks,
  currencyCode: number,
): MoneyEvent[] {
  return [...stateEvents(before, books, currencyCode), ...newlyOverdue(before, books, currencyCode)]
}

/** One for each bill whose state is another one, with the balance before and after its postings. */
function stateEvents(
  { totals }: StoredBooks,
  books: AccountBooks,
  currencyCode: number,
): MoneyEvent[] {
  const found = new Map<string, MoneyEvent>()
  let balance = totals.receivable.plus(totals.credit)
  for (const posting of books.postings) {
    const before = balance
    balance = before.plus(changeOf(posting))
    const bill = posting.bill === undefined ? undefined : books.bill(posting.bill)
    const type = bill === undefined ? null : typeOf(posting, bill)
    if (bill === undefined || type === null) continue
    const key = keyOf(refOf(bill))
    found.set(key, {
      type,
      identity: [posting.id],
      aid: books.aid,
      before: found.get(key)?.before ?? before,
      after: balance,
      row: billRow(bill, currencyCode),
    })
  }
  return [...found.values()]
}

/** By how much a posting changes what the account owes. */
function changeOf({ entries }: Posting): Exact {
  const ofCustomer = entries.filter(({ account }) => /^(receivable|credit):/.test(account))
  return sumOf(ofCustomer.map(({ amount }) => amount))
}

function typeOf({ event }: Posting, bill: Bill): MoneyEventType | null {
  // It moves no money.
  if (bill.fields.method === 'write_off') return null
  switch (event) {
    case 'invoice':
      return bill.due.lessThan(0) ? 'credit_note' : 'invoice_confirmed'
    case 'payment':
    case 'refund':
    case 'deposit':
      return isUnconfirmed(bill) ? 'payment_pending' : 'payment_completed'
    case 'confirm':
      return 'payment_completed'
    case 'unconfirm':
      return 'payment_pending'
    case 'reject':
    case 'deny':
      return 'payment_rejected'
    default:
      return null
  }
}

/**
 * Debts whose due date has passed already when they are made, or opened by a payment that is taken
 * back. The others become overdue by time only, and are found by a job.
 */
function newlyOverdue(
  before: StoredBooks,
  books: AccountBooks,
  currencyCode: number,
): MoneyEvent[] {
  const nowMs = books.now.getTime()
  const due = [...books.changed].filter((bill) => isPastDue(bill, nowMs))
  if (due.length === 0) return []
  const owed = new Set(before.bills.filter(isOwed).map((bill) => keyOf(refOf(bill))))
  return due
    .filter((bill) => !owed.has(keyOf(refOf(bill))))
    .map((bill) => overdueEvent(bill, currencyCode))
}
