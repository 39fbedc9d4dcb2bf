/** Books without a store, and short forms of what happens in them. */
import { AccountBooks, NO_TOTALS } from '../../../src/billing/books/account-books.ts'
import { type Bill, billOf, documentOf } from '../../../src/billing/books/bill.ts'
import { addInvoiceBill } from '../../../src/billing/invoices/invoice-bill.ts'
import { paymentMethodOf } from '../../../src/billing/payments/methods.ts'
import { type PaymentRules, paymentOrder } from '../../../src/billing/payments/payment-order.ts'
import { recordPayment } from '../../../src/billing/payments/record.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'

export const ACTOR = { by: 'cli', id: 'test', name: 'test', address: '' } as const
/** None. */
const CURRENCY = 999
export const NOW_MS = Date.UTC(2026, 0, 10, 12)

export const RULES: PaymentRules = {
  sources: [],
  userFields: ['clerk'],
  digits: 2,
  money: String,
  dateOf(value) {
    const date = new Date(String(value))
    return Number.isNaN(date.getTime()) ? null : date
  },
}

/** Books of one account, which go through their stored form between operations. */
export class TestBooks {
  readonly aid: number
  books: AccountBooks
  nowMs = NOW_MS
  #txid = 0
  #invoice = 100

  constructor(aid = 1) {
    this.aid = aid
    this.books = new AccountBooks(
      { aid, number: 0, totals: NO_TOTALS, bills: [] },
      { nowMs: this.nowMs, actor: ACTOR },
      CURRENCY,
    )
  }

  txid(): string {
    this.#txid += 1
    return String(this.#txid).padStart(13, '0')
  }

  txids(count: number): string[] {
    return Array.from({ length: count }, () => this.txid())
  }

  /** Begins another operation, a second later. */
  begin(): AccountBooks {
    this.nowMs += 1000
    const { books } = this
    const bills = [...books.bills()].map((bill) => billOf(documentOf(bill)))
    const { number, totals } = books
    this.books = new AccountBooks(
      { aid: this.aid, number, totals, bills },
      { nowMs: this.nowMs, actor: ACTOR },
      CURRENCY,
    )
    return this.books
  }

  invoice(due: number | string, tax: number | string = 0, dueDate = new Date(this.nowMs)): Bill {
    this.#invoice += 1
    const amount = new Exact(due)
    return addInvoiceBill(this.begin(), {
      aid: this.aid,
      invoiceId: this.#invoice,
      billrunKey: '202601',
      due: amount,
      beforeTax: amount.minus(tax),
      taxes: { VAT: new Exact(tax) },
      dueDate,
    })
  }

  /** Throws `BillingError`. */
  pay(amount: unknown, { method = 'cash', ...more }: Record<string, unknown> = {}): Bill {
    const item = { aid: this.aid, amount, ...more }
    const order = paymentOrder(item, paymentMethodOf(String(method)), RULES)
    return recordPayment(this.begin(), order, this.txid())
  }
}
