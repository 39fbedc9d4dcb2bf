/** Payments, refunds and deposits in the books of their account. Pure. */
import type { BillDocument } from '../../catalog/records/money/bill.ts'
import { storedAmount } from '../../catalog/records/money/exact-amount.ts'
import { ZERO } from '../amount.ts'
import type { AccountBooks } from '../books/account-books.ts'
import {
  type Bill,
  type BillFields,
  isActive,
  isDebt,
  isUnconfirmed,
  isUnusedDeposit,
  newBill,
  openAmount,
} from '../books/bill.ts'
import { paymentPosting } from '../books/journal.ts'
import { moneyFormat } from '../currency.ts'
import { BillingError } from '../errors.ts'
import { linkWished } from './link-wishes.ts'
import type { PaymentOrder } from './payment-order.ts'

/** Records a payment and covers bills by it. Throws `BillingError`. */
export function recordPayment(books: AccountBooks, order: PaymentOrder, txid: string): Bill {
  const bill = billOfOrder(books, order, txid)
  books.add(bill, paymentPosting(bill))
  if (isUnusedDeposit(bill)) return bill
  linkWished(books, bill, order.links)
  if (order.links.length === 0) {
    if (order.dir === 'fc') {
      if (order.switchLinks === true && !isUnconfirmed(bill)) coverBeforePending(books, bill)
      else books.cover(books.openDebts(), openAmount(bill).isZero() ? [] : [bill])
    } else books.cover([bill], books.openCredits())
  }
  books.cover()
  refuseWrittenOffRest(books, bill)
  return bill
}

function billOfOrder(books: AccountBooks, order: PaymentOrder, txid: string): Bill {
  const { method, dir, amount, isDeposit, urt, fields } = order
  const common: BillFields = {
    ...(fields as Partial<BillDocument>),
    type: 'rec',
    aid: books.aid,
    txid,
    dir,
    method,
    urt: urt ?? books.now,
    process_time: books.now,
    // All other methods are final at once.
    ...(method === 'automatic' ? { waiting_for_confirmation: true } : {}),
  }
  if (!isDeposit) return newBill(common, dir === 'fc' ? amount.negated() : amount)
  if (method === 'write_off')
    throw new BillingError('Method write_off cannot be a deposit', { path: 'deposit' })
  const deposit = { deposit: true, deposit_amount: storedAmount(amount), freeze_date: common.urt }
  return newBill({ ...common, ...deposit }, ZERO)
}

/** A write-off closes bills; it is no money that could be used later. */
function refuseWrittenOffRest({ aid, currencyCode }: AccountBooks, bill: Bill): void {
  if (bill.fields.method !== 'write_off') return
  const rest = openAmount(bill)
  if (rest.isZero()) return
  const what = bill.due.lessThan(0) ? 'debt' : 'credit'
  const money = moneyFormat(currencyCode)
  throw new BillingError(
    `Method write_off: amount ${money(bill.amount)} is bigger than the open ${what} ` +
      `of account ${aid}`,
    { path: 'amount' },
  )
}

/**
 * Covers debts by a payment, oldest first, also those that unconfirmed payments have reserved;
 * these reserve what is left.
 */
function coverBeforePending(books: AccountBooks, payment: Bill): void {
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
