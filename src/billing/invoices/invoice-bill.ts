/** Bills of invoices: their storage with the posting, and their removal. */
import type { BillDocument } from '../../catalog/records/money/bill.ts'
import { type Exact, storedAmount } from '../../catalog/records/money/exact-amount.ts'
import { AMOUNT_MAX, least, rounded, ZERO } from '../amount.ts'
import type { AccountBooks } from '../books/account-books.ts'
import {
  type Bill,
  type BillFields,
  billOf,
  isActive,
  newBill,
  openAmount,
  refOf,
} from '../books/bill.ts'
import {
  deletePosting,
  type InvoiceParts,
  invoicePosting,
  isBalanced,
  postingOf,
} from '../books/journal.ts'
import { type BooksWriter, loadBooks, saveBooks } from '../books/store-books.ts'
import { currencyDigits, moneyFormat } from '../currency.ts'
import { BillingError } from '../errors.ts'

/** A part of an earlier invoice that a credit note takes back; positive, after tax. */
export interface Adjustment {
  readonly invoiceId: number
  readonly amount: Exact
}

export interface InvoiceBill extends InvoiceParts {
  readonly aid: number
  readonly invoiceId: number
  readonly billrunKey: string
  /** After tax, rounded to the smallest unit; negative if it is owed to the customer. */
  readonly due: Exact
  /** Time of the bill; of the operation if absent. */
  readonly urt?: Date
  readonly dueDate: Date
  /** Earliest date of collection; the due date if absent. */
  readonly notBefore?: Date
  /** Invoices that a credit note corrects: what they have open is covered first. */
  readonly adjusts?: readonly Adjustment[]
  /** Further fields, such as `invoice_date`, `invoice_type` and `payer_name`. */
  readonly fields?: Partial<BillDocument>
}

/** Adds the bill of an invoice and covers it by credit of the account. Pure. */
export function addInvoiceBill(books: AccountBooks, invoice: InvoiceBill): Bill {
  const { aid, invoiceId, billrunKey, due, urt, dueDate, notBefore, fields } = invoice
  const { currencyCode } = books
  const isWhole = rounded(due, currencyDigits(currencyCode)).equals(due)
  if (!isWhole || due.abs().greaterThan(AMOUNT_MAX)) {
    const money = moneyFormat(currencyCode)
    throw new BillingError(
      `invoice ${invoiceId}: ${money(due)} is not an amount of the currency`,
      'refused',
    )
  }
  const common: BillFields = {
    ...fields,
    type: 'inv',
    aid,
    invoice_id: invoiceId,
    billrun_key: billrunKey,
    urt: urt ?? books.now,
    process_time: books.now,
    due_date: dueDate,
    charge: { not_before: notBefore ?? dueDate },
    due_before_vat: storedAmount(invoice.beforeTax.toDecimalPlaces(12)),
    customer_status: 'open',
    method: fields?.method ?? 'automatic',
  }
  const bill = newBill(common, due)
  books.add(bill, invoicePosting(bill, invoice, books.nextNumber))
  for (const { invoiceId, amount } of invoice.adjusts ?? []) {
    const debt = books.bill({ type: 'inv', id: invoiceId })
    const covered =
      debt === undefined ? ZERO : least(least(openAmount(debt), amount), openAmount(bill))
    if (debt !== undefined && covered.greaterThan(0)) books.link(debt, bill, covered)
  }
  books.cover()
  return bill
}

/** Once per number: throws `BillingError` if the account has an invoice with it. */
export async function storeInvoiceBill(writer: BooksWriter, invoice: InvoiceBill): Promise<void> {
  const ref = { type: 'inv', id: invoice.invoiceId } as const
  const adjusted = (invoice.adjusts ?? []).map(
    ({ invoiceId: id }) => ({ type: 'inv', id }) as const,
  )
  const books = await loadBooks(writer, invoice.aid, { refs: [ref, ...adjusted] })
  if (books.bill(ref) !== undefined) {
    throw new BillingError(
      `account ${invoice.aid} has an invoice ${invoice.invoiceId} already`,
      'refused',
    )
  }
  addInvoiceBill(books, invoice)
  saveBooks(writer, books, 'invoice')
}

/**
 * Reverses the postings of a bill without links that is removed in the same transaction. Throws
 * `BillingError` for one that belongs to others: of a cancelled payment or of an agreement.
 */
export async function postRemoval(writer: BooksWriter, document: BillDocument): Promise<void> {
  const { catalog, session } = writer
  const bill = billOf(document)
  if (!isActive(bill)) throw belongsToOthers()
  const { type, id } = refOf(bill)
  const { aid } = document
  const found = await catalog.journal
    .find({ aid, 'entries.document.id': id, 'entries.document.type': type }, { session })
    .sort({ number: 1 })
    .toArray()
  if (found.length === 0) return
  const books = await loadBooks(writer, aid)
  const at = { number: books.nextNumber, date: books.now }
  const posting = deletePosting(bill, found.map(postingOf), at)
  if (!isBalanced(posting)) throw belongsToOthers()
  books.post(posting)
  saveBooks(writer, books, 'delete')
}

function belongsToOthers(): BillingError {
  return new BillingError('it belongs to other payments of the account', 'refused')
}
