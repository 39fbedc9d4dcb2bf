/** Use of deposits: their money becomes credit. Pure. */
import { exactAmount, storedAmount } from '../../catalog/records/exact-amount.ts'
import { ZERO } from '../amount.ts'
import type { AccountBooks } from '../books/account-books.ts'
import { type Bill, isActive, isUnusedDeposit } from '../books/bill.ts'
import { useDepositPosting } from '../books/journal.ts'

export function isDeposit(bill: Bill | undefined): bill is Bill {
  return bill !== undefined && bill.fields.deposit === true && isActive(bill)
}

/** False if it was used before. */
export function useDeposit(books: AccountBooks, bill: Bill, urt: Date): boolean {
  if (!isUnusedDeposit(bill)) return false
  const amount = exactAmount(bill.fields.deposit_amount)
  books.post(useDepositPosting(bill, amount, books.now))
  bill.fields.deposit_amount = storedAmount(ZERO)
  bill.fields.unfreeze_date = books.now
  bill.fields.urt = urt
  bill.amount = amount
  bill.due = amount.negated()
  books.touch(bill)
  books.cover()
  return true
}
