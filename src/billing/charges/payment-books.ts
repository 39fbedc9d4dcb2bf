/** Charges in the books: pending payments, which reserve bills until they are decided. */
import type { Catalog } from '../../catalog/connection.ts'
import type { BillDocument } from '../../catalog/entities/bill.ts'
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
import type { BillSelection, DecidedPayment, OpenBill, PaymentBooks } from './books.ts'

type Session = BooksWriter['session']

/** Bills with something open or reserved. */
const OPEN = { paid: { $in: ['0', '2'] } } as const
const PAGE_SIZE = 500
const NODE = { by: 'node', id: '', name: '', address: '' } as const

export function createPaymentBooks(catalog: Catalog): PaymentBooks {
  return {
    async openBills(aid, selection, nowMs) {
      const found = await catalog.run('read open bills', () =>
        catalog.bills.find({ aid, ...OPEN } as object).toArray(),
      )
      return openBillsIn(found, selection, nowMs)
    },
    accountsToCharge: (selection, page, nowMs) => accountsToCharge(catalog, selection, page, nowMs),
    async reserve(session, { aid, gateway, amount, bills, actor, reason, nowMs, chargeId }) {
      const writer = writerOf(catalog, session, { nowMs, actor, reason })
      const [txid = ''] = await nextTxids(writer, 1)
      const books = await loadBooks(writer, aid, { refs: bills })
      const fields = {
        source: 'web',
        pending: true,
        payment_gateway: gateway,
        gateway_details: { name: gateway, charge: chargeId },
      }
      recordPayment(books, { ...orderOf(aid, amount), links: bills, fields }, txid)
      saveBooks(writer, books, 'charge')
      return txid
    },
    async complete(session, payment) {
      const writer = writerOf(catalog, session, { nowMs: payment.nowMs, actor: NODE, reason: '' })
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
        const order = { ...orderOf(payment.aid, bill.amount), links: [], fields }
        confirmPayment(books, recordPayment(books, order, txid))
      }
      saveBooks(writer, books, 'charge')
    },
    async reject(session, payment) {
      const writer = writerOf(catalog, session, { nowMs: payment.nowMs, actor: NODE, reason: '' })
      const { books, bill } = await find(writer, payment)
      if (!canBeTakenBack(books, bill)) return
      const [txid = ''] = await nextTxids(writer, 1)
      const further = { ...responseOf(payment), rejection_code: payment.code }
      takeBack(books, bill, 'reject', { txid, further })
      saveBooks(writer, books, 'charge')
    },
  }
}

function writerOf(
  catalog: Catalog,
  session: Session,
  { nowMs, actor, reason }: Pick<BooksWriter, 'nowMs' | 'actor'> & { readonly reason: string },
): BooksWriter {
  return { catalog, session, nowMs, actor, ...(reason !== '' && { reason }) }
}

function orderOf(
  aid: number,
  amount: PaymentOrder['amount'],
): Omit<PaymentOrder, 'links' | 'fields'> {
  return { aid, method: 'automatic', amount, dir: 'fc', isDeposit: false, urt: null }
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
  selection: BillSelection,
  nowMs: number,
): OpenBill[] {
  const bills = documents.map(billOf).filter((bill) => isActive(bill) && isDue(bill, nowMs))
  if (bills.some(isCredit)) return []
  return bills
    .filter((bill) => isDebt(bill) && bill.fields['suspend_debit'] === undefined)
    .filter((bill) => isSelected(bill, selection))
    .sort((one, other) => one.fields.urt.getTime() - other.fields.urt.getTime())
    .map((bill) => ({ ...refOf(bill), left: openAmount(bill) }))
    .filter(({ left }) => left.greaterThan(0))
}

function isCredit(bill: Bill): boolean {
  const isUsable = !isUnconfirmed(bill) && !isUnusedDeposit(bill)
  return bill.due.lessThan(0) && isUsable && openAmount(bill).greaterThan(0)
}

function isDue({ fields: { charge } }: Bill, nowMs: number): boolean {
  return charge === undefined || charge.not_before.getTime() < nowMs
}

function isSelected(
  { fields }: Bill,
  { invoices, billrunKey, minInvoiceDateMs }: BillSelection,
): boolean {
  const { invoice_id: number, billrun_key: key, invoice_date: date } = fields
  if (invoices !== undefined && (number === undefined || !invoices.includes(number))) return false
  if (billrunKey !== undefined && key !== billrunKey) return false
  return minInvoiceDateMs === undefined || (date?.getTime() ?? 0) >= minInvoiceDateMs
}

/** Accounts of which all bills are reserved are among the pages, but not in the result. */
async function accountsToCharge(
  catalog: Catalog,
  selection: BillSelection,
  { afterAid, size }: { readonly afterAid: number; readonly size: number },
  nowMs: number,
): Promise<number[]> {
  const found: number[] = []
  let after = afterAid
  while (found.length < size) {
    const page = await catalog.run('find accounts to charge', () =>
      catalog.bills
        .find({ aid: { $gt: after }, ...OPEN } as object)
        .sort({ aid: 1 })
        .limit(PAGE_SIZE)
        .toArray(),
    )
    if (page.length === 0) break
    const byAccount = new Map<number, BillDocument[]>()
    for (const bill of page) byAccount.set(bill.aid, [...(byAccount.get(bill.aid) ?? []), bill])
    const last = page.at(-1)?.aid ?? after
    for (const [aid, bills] of byAccount) {
      // The bills of the last account may continue on the next page: the run reads them itself.
      const isCut = aid === last && page.length === PAGE_SIZE
      const isWanted = isCut || openBillsIn(bills, selection, nowMs).length > 0
      if (isWanted && found.length < size) found.push(aid)
    }
    after = found.length >= size ? (found.at(-1) ?? last) : last
  }
  return found
}
