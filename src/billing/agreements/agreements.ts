/** Agreements on installments: debts are paid by new debts with later dates. Pure. */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { storedAmount } from '../../catalog/records/money/exact-amount.ts'
import type { Fields } from '../../domain/fields.ts'
import { sumOf } from '../amount.ts'
import type { AccountBooks } from '../books/account-books.ts'
import {
  type Bill,
  type BillFields,
  isActive,
  isDebt,
  newBill,
  openAmount,
  refOf,
} from '../books/bill.ts'
import { agreementPosting } from '../books/journal.ts'
import { BillingError } from '../errors.ts'
import { INSTALLMENT_AGREEMENT, MERGE_INSTALLMENTS } from '../payments/methods.ts'
import { monthsAfter } from './installments.ts'
import type { PlannedInstallment, SplitOrder } from './split-order.ts'

export interface AgreementIds {
  /** Number of the agreement. */
  readonly agreement: number
  readonly txids: readonly string[]
}

/** One payment of the oldest debts, and a debt per installment. Throws `BillingError`. */
export function splitBill(
  books: AccountBooks,
  order: SplitOrder,
  ids: AgreementIds,
  timeZone: string,
): void {
  const { amount, installments } = order
  const debts = books.openDebts()
  if (amount.greaterThan(sumOf(debts.map(openAmount)))) {
    throw new BillingError('Passed amount is bigger than the customer debt', { path: 'amount' })
  }
  const [firstTxid = '', ...txids] = ids.txids
  const payment = newBill(
    { ...paymentFields(books, firstTxid, 'fc', INSTALLMENT_AGREEMENT), urt: books.now },
    amount.negated(),
  )
  const parts = installments.map((part, index) => installmentOf(books, part, txids[index] ?? ''))
  books.add(payment, agreementPosting(payment, parts))
  books.cover(debts, [payment])
  const invoices = payment.links.filter(({ type }) => type === 'inv').map(({ id }) => id)
  const agreement = {
    id: ids.agreement,
    installments_num: parts.length,
    total_amount: storedAmount(amount),
    first_due_date: order.firstDueDate ?? installments[0]?.dueDate,
    invoices,
  }
  payment.fields['payment_agreement'] = agreement
  const covered = payment.links.map(({ type, id, amount: part }) => ({
    type,
    id,
    amount: storedAmount(part),
  }))
  const firstCharge = firstChargeOf(books, payment, order)
  for (const [index, part] of parts.entries()) {
    const notBefore = monthsAfter(firstCharge, index, timeZone)
    Object.assign(part.fields, {
      urt: notBefore,
      charge: { not_before: notBefore },
      payment_agreement: { ...agreement, installment_index: index + 1 },
      linked_bills: covered,
    })
    books.add(part)
  }
  books.cover()
}

function firstChargeOf(books: AccountBooks, payment: Bill, order: SplitOrder): Date {
  if (order.firstChargeDate !== null) return order.firstChargeDate
  const dates = payment.links.flatMap((link) => books.bill(link)?.fields.charge?.not_before ?? [])
  const latest = dates.sort((a, b) => b.getTime() - a.getTime())[0]
  return latest ?? order.installments[0]?.dueDate ?? books.now
}

function installmentOf(
  books: AccountBooks,
  { amount, dueDate, fields }: PlannedInstallment,
  txid: string,
): Bill {
  const common = paymentFields(books, txid, 'tc', INSTALLMENT_AGREEMENT)
  return newBill({ ...common, ...fields, due_date: dueDate, split_bill: true }, amount)
}

function paymentFields(
  { aid, now }: AccountBooks,
  txid: string,
  dir: 'fc' | 'tc',
  method: string,
): BillFields {
  return { type: 'rec', aid, txid, dir, method, urt: now, process_time: now }
}

export interface MergeOrder {
  readonly agreement: number
  readonly dueDate: Date | null
  readonly firstChargeDate: Date | null
}

/** One payment of all open installments, and one debt in their place. False if none is open. */
export function mergeInstallments(
  books: AccountBooks,
  { agreement, dueDate, firstChargeDate }: MergeOrder,
  [paymentTxid = '', debtTxid = '']: readonly string[],
): boolean {
  const open = [...books.bills()].filter((bill) => isOpenInstallment(bill, agreement))
  if (open.length === 0) return false
  const total = sumOf(open.map(openAmount))
  const notBefore = firstChargeDate ?? earliest(open.map(({ fields }) => fields.charge?.not_before))
  const payment = newBill(
    paymentFields(books, paymentTxid, 'fc', MERGE_INSTALLMENTS),
    total.negated(),
  )
  const debt = newBill(
    {
      ...paymentFields(books, debtTxid, 'tc', MERGE_INSTALLMENTS),
      urt: notBefore ?? books.now,
      ...dated('due_date', dueDate ?? earliest(open.map(({ fields }) => fields.due_date))),
      ...(notBefore === null ? {} : { charge: { not_before: notBefore } }),
      split_bill: true,
      bills_merged: open.map(({ fields }) => fields.txid),
      payment_agreement: mergedAgreement(open[0] as Bill, total),
    },
    total,
  )
  payment.fields['payment_agreement'] = mergedAgreement(open[0] as Bill, total)
  books.add(payment, agreementPosting(payment, [debt]))
  for (const bill of open) books.link(bill, payment, openAmount(bill))
  books.add(debt)
  books.cover()
  return true
}

function isOpenInstallment(bill: Bill, agreement: number): boolean {
  const { payment_agreement: stored } = bill.fields
  const id = typeof stored === 'object' && stored !== null ? (stored as Fields)['id'] : undefined
  const isOpen = isDebt(bill) && isActive(bill) && openAmount(bill).greaterThan(0)
  return isOpen && Number(id) === agreement && refOf(bill).type === 'rec'
}

function mergedAgreement({ fields }: Bill, total: Exact): Fields {
  const stored = fields['payment_agreement'] as Fields
  return {
    ...stored,
    installment_index: 1,
    installments_num: 1,
    total_amount: storedAmount(total),
  }
}

function earliest(dates: readonly (Date | undefined)[]): Date | null {
  const known = dates.filter((date) => date !== undefined)
  return known.sort((a, b) => a.getTime() - b.getTime())[0] ?? null
}

function dated(name: string, date: Date | null): Fields {
  return date === null ? {} : { [name]: date }
}
