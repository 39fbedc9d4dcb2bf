/** Confirmation of payments whose money has arrived, and its withdrawal. Pure. */
import type { AccountBooks } from '../books/account-books.ts'
import { type Bill, isActive, isUnconfirmed } from '../books/bill.ts'
import { confirmPosting, unconfirmPosting } from '../books/journal.ts'
import { PAYMENT_METHODS } from './methods.ts'

export function canBeConfirmed(bill: Bill): boolean {
  return bill.fields.type === 'rec' && isActive(bill) && isUnconfirmed(bill)
}

/** The reserved amounts are covered, and the rest of the payment becomes credit. */
export function confirmPayment(books: AccountBooks, bill: Bill): void {
  const { fields } = bill
  fields.pending = false
  fields.waiting_for_confirmation = false
  fields.confirmation_time = books.now
  fields.urt = books.now
  books.post(confirmPosting(bill, books.nextNumber))
  books.markLinks(bill)
  books.cover()
}

/** A write-off and an agreement wait for no money. */
export function canBeUnconfirmed(bill: Bill): boolean {
  const { type, method } = bill.fields
  const isPayment = type === 'rec' && PAYMENT_METHODS.some((each) => each === method)
  return isPayment && method !== 'write_off' && isActive(bill) && !isUnconfirmed(bill)
}

/** The covered amounts are only reserved until the payment is confirmed again. */
export function unconfirmPayment(books: AccountBooks, bill: Bill): void {
  const { fields } = bill
  books.post(unconfirmPosting(bill, books.nextNumber))
  fields.waiting_for_confirmation = true
  delete fields.confirmation_time
  books.markLinks(bill)
}
