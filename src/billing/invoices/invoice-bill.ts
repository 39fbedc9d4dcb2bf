/** Bills of invoices: their storage with the posting, and their removal. */
import type { BillDocument } from '../../catalog/entities/bill.ts'
import { type Exact, storedAmount } from '../../catalog/records/exact-amount.ts'
import { AMOUNT_MAX, rounded } from '../amount.ts'
import type { AccountBooks } from '../books/account-books.ts'
import { type Bill, type BillFields, newBill } from '../books/bill.ts'
import { deletePosting, type InvoiceParts, invoicePosting, postingOf } from '../books/journal.ts'
import { type BooksWriter, loadBooks, saveBooks } from '../books/store-books.ts'
import { BillingError } from '../errors.ts'

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
  /** Further fields, such as `invoice_date`, `invoice_type` and `payer_name`. */
  readonly fields?: Partial<BillDocument>
}

/** Adds the bill of an invoice and covers it by credit of the account. Pure. */
export function addInvoiceBill(books: AccountBooks, invoice: InvoiceBill): Bill {
  const { aid, invoiceId, billrunKey, due, urt, dueDate, notBefore, fields } = invoice
  if (!rounded(due).equals(due) || due.abs().greaterThan(AMOUNT_MAX)) {
    throw new BillingError(`invoice ${invoiceId}: ${due} is not an amount of the currency`)
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
  books.add(bill, invoicePosting(bill, invoice))
  books.cover()
  return bill
}

/** Once per number: throws `BillingError` if the account has an invoice with it. */
export async function storeInvoiceBill(writer: BooksWriter, invoice: InvoiceBill): Promise<void> {
  const ref = { type: 'inv', id: invoice.invoiceId } as const
  const books = await loadBooks(writer, invoice.aid, { refs: [ref] })
  if (books.bill(ref) !== undefined) {
    throw new BillingError(`account ${invoice.aid} has an invoice ${invoice.invoiceId} already`)
  }
  addInvoiceBill(books, invoice)
  await saveBooks(writer, books, 'invoice')
}

/** Reverses the posting of a bill without links that is removed in the same transaction. */
export async function postRemoval(writer: BooksWriter, aid: number, stamp: string): Promise<void> {
  const { catalog, session } = writer
  const found = await catalog.run('read a posting', () =>
    catalog.journal.findOne({ _id: stamp }, { session }),
  )
  if (found === null) return
  const books = await loadBooks(writer, aid)
  books.post(deletePosting(postingOf(found), books.now))
  await saveBooks(writer, books, 'delete')
}
