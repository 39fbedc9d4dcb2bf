/** Charges in the books: pending payments, which reserve bills until they are decided. */
import type { Catalog } from '../../catalog/connection.ts'
import type { BillDocument } from '../../catalog/records/money/bill.ts'
import {
  type Bill,
  billOf,
  isActive,
  isDebt,
  isUnconfirmed,
  isUnusedDeposit,
  openAmount,
  refOf,
} from '../books/bill.ts'
import { type BooksWriter, loadBooks, saveBooks } from '../books/store-books.ts'
import { nextTxids } from '../numbers.ts'
import { canBeConfirmed, confirmPayment } from '../payments/confirm.ts'
import type { PaymentOrder } from '../payments/payment-order.ts'
import { recordPayment } from '../payments/record.ts'
import { canBeTakenBack, takeBack } from '../payments/take-back.ts'
import type {
  BillFilter,
  BillSelection,
  ChargeMode,
  DecidedPayment,
  OpenBill,
  PaymentBooks,
} from './books.ts'

type Session = BooksWriter['session']

/** Bills with something open or reserved. */
const OPEN = { paid: { $in: ['0', '2'] } } as const
const PAGE_SIZE = 500
const NODE = { by: 'node', id: '', name: '', address: '' } as const

/** `currencyCode`: the numeric code of all bills. */
export function createPaymentBooks(catalog: Catalog, currencyCode: number): PaymentBooks {
  const writerOf = (
    session: Session,
    { nowMs, actor, reason }: Pick<BooksWriter, 'nowMs' | 'actor'> & { readonly reason: string },
  ): BooksWriter => {
    return { catalog, session, currencyCode, nowMs, actor, ...(reason !== '' && { reason }) }
  }
  return {
    async openBills(filter) {
      const { aid } = filter
      const found = await catalog.bills.find({ aid, ...OPEN } as object).toArray()
      return openBillsIn(found, filter)
    },
    accountsToCharge: (filter, page) => accountsToCharge(catalog, filter, page),
    async reserve(session, payment) {
      const { mode, aid, gateway, amount, bills, actor, reason, nowMs, chargeId, uf } = payment
      const writer = writerOf(session, { nowMs, actor, reason })
      const [txid = ''] = await nextTxids(writer, 1)
      const books = await loadBooks(writer, aid, { refs: bills })
      const fields = {
        source: 'web',
        pending: true,
        payment_gateway: gateway,
        gateway_details: { name: gateway, charge: chargeId },
        ...(Object.keys(uf).length > 0 && { uf }),
      }
      const dir = mode === 'refund' ? 'tc' : 'fc'
      recordPayment(books, { ...orderOf(aid, amount, dir), links: bills, fields }, txid)
      saveBooks(writer, books, 'charge')
      return txid
    },
    async complete(session, payment) {
      const writer = writerOf(session, { nowMs: payment.nowMs, actor: NODE, reason: '' })
      const { books, bill } = await find(writer, payment)
      if (canBeConfirmed(bill)) {
        Object.assign(bill.fields, responseOf(payment))
        confirmPayment(books, bill)
      } else if (!isActive(bill)) {
        // An operator has rejected it, but the money has arrived.
        const [txid = ''] = await nextTxids(writer, 1)
        const { payment_gateway, gateway_details } = bill.fields
        const details = { payment_gateway, gateway_details }
        const fields = { ...details, ...responseOf(payment), source: 'web' }
        const { dir = 'fc' } = bill.fields
        const order = { ...orderOf(payment.aid, bill.amount, dir), links: [], fields }
        confirmPayment(books, recordPayment(books, order, txid))
      }
      saveBooks(writer, books, 'charge')
    },
    async reject(session, payment) {
      const writer = writerOf(session, { nowMs: payment.nowMs, actor: NODE, reason: '' })
      const { books, bill } = await find(writer, payment)
      if (!canBeTakenBack(books, bill)) return
      const [txid = ''] = await nextTxids(writer, 1)
      const further = { ...responseOf(payment), rejection_code: payment.code }
      takeBack(books, bill, 'reject', { txid, further })
      saveBooks(writer, books, 'charge')
    },
  }
}

function orderOf(
  aid: number,
  amount: PaymentOrder['amount'],
  dir: PaymentOrder['dir'],
): Omit<PaymentOrder, 'links' | 'fields'> {
  return { aid, method: 'automatic', amount, dir, isDeposit: false, urt: null }
}

function responseOf({ gateway, reference, status, code }: DecidedPayment) {
  return { vendor_response: { name: gateway, reference, status, ...(code !== '' && { code }) } }
}

async function find(writer: BooksWriter, { aid, txid }: DecidedPayment) {
  const ref = { type: 'rec', id: txid } as const
  const books = await loadBooks(writer, aid, { refs: [ref] })
  const bill = books.bill(ref)
  if (bill === undefined) throw new RangeError(`there is no payment ${txid}`)
  return { books, bill }
}

function openBillsIn(
  documents: readonly BillDocument[],
  { mode, selection, nowMs }: Omit<BillFilter, 'aid'>,
): OpenBill[] {
  const bills = documents.map(billOf).filter((bill) => isActive(bill) && isDue(bill, nowMs))
  const other = mode === 'charge' ? 'refund' : 'charge'
  if (bills.some((bill) => isOf(bill, other))) return []
  return bills
    .filter((bill) => isOf(bill, mode) && bill.fields['suspend_debit'] === undefined)
    .filter((bill) => isSelected(bill, selection))
    .sort((one, other) => one.fields.urt.getTime() - other.fields.urt.getTime())
    .map((bill) => ({ ...refOf(bill), left: openAmount(bill) }))
}

/** Something open that is charged, or refunded. */
function isOf(bill: Bill, mode: ChargeMode): boolean {
  if (!openAmount(bill).greaterThan(0)) return false
  if (mode === 'charge') return isDebt(bill)
  return bill.due.lessThan(0) && !isUnconfirmed(bill) && !isUnusedDeposit(bill)
}

/** The due date of a debt does not apply to credit. */
function isDue({ due, fields: { charge } }: Bill, nowMs: number): boolean {
  if (due.lessThan(0)) return true
  return charge === undefined || charge.not_before.getTime() < nowMs
}

function isSelected(
  { fields }: Bill,
  { invoices, excludeInvoices, billrunKey, minInvoiceDateMs }: BillSelection,
): boolean {
  const { invoice_id: number, billrun_key: key, invoice_date: date } = fields
  if (invoices !== undefined && (number === undefined || !invoices.includes(number))) return false
  if (number !== undefined && excludeInvoices?.includes(number)) return false
  if (billrunKey !== undefined && key !== billrunKey) return false
  return minInvoiceDateMs === undefined || (date?.getTime() ?? 0) >= minInvoiceDateMs
}

/** Accounts of which all bills are reserved are among the pages, but not in the result. */
async function accountsToCharge(
  catalog: Catalog,
  filter: Omit<BillFilter, 'aid'>,
  { afterAid, size }: { readonly afterAid: number; readonly size: number },
): Promise<number[]> {
  const found: number[] = []
  let after = afterAid
  while (found.length < size) {
    const page = await catalog.bills
      .find({ aid: { $gt: after }, ...OPEN } as object)
      .sort({ aid: 1 })
      .limit(PAGE_SIZE)
      .toArray()
    if (page.length === 0) break
    const byAccount = new Map<number, BillDocument[]>()
    for (const bill of page) byAccount.set(bill.aid, [...(byAccount.get(bill.aid) ?? []), bill])
    const last = page.at(-1)?.aid ?? after
    for (const [aid, bills] of byAccount) {
      // The bills of the last account may continue on the next page: the run reads them itself.
      const isCut = aid === last && page.length === PAGE_SIZE
      const isToCharge = isCut || openBillsIn(bills, filter).length > 0
      if (isToCharge && found.length < size) found.push(aid)
    }
    after = found.length >= size ? (found.at(-1) ?? last) : last
  }
  return found
}
