/** New money covers the oldest bills, before payments that are not confirmed. Pure. */
import type { AccountBooks } from '../books/account-books.ts'
import { type Bill, isActive, isDebt, isUnconfirmed } from '../books/bill.ts'

/**
 * Covers debts by a payment, oldest first, also those that unconfirmed payments have reserved;
 * these reserve what is left.
 */
export function coverBeforePending(books: AccountBooks, payment: Bill): void {
  const waiting = waitingPayments(books)
  for (const bill of waiting) books.unlink(bill)
  books.cover(books.openDebts(), [payment])
  for (const bill of waiting) books.cover(books.openDebts(), [bill])
}

/** Unconfirmed payments that have reserved something, oldest first. */
function waitingPayments(books: AccountBooks): Bill[] {
  return [...books.bills()]
    .filter((bill) => !isDebt(bill) && isActive(bill) && isUnconfirmed(bill))
    .filter(({ links }) => links.length > 0)
    .sort((one, other) => one.fields.urt.getTime() - other.fields.urt.getTime())
}
