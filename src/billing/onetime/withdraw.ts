/** Takes back a one-time invoice whose charge has failed: bill, document and lines are removed. */
import type { BooksWriter } from '../books/store-books.ts'
import { BillingError } from '../errors.ts'
import { postRemoval } from '../invoices/invoice-bill.ts'

/** In a transaction. Rejects with `BillingError` if something has paid the invoice meanwhile. */
export async function withdrawInvoice(
  writer: BooksWriter,
  invoice: { readonly aid: number; readonly billrun_key: string; readonly invoice_id: number },
  reason: string,
): Promise<void> {
  const { catalog, session, nowMs } = writer
  const { aid, billrun_key: key, invoice_id: id } = invoice
  const filter = { aid, type: 'inv', invoice_id: id } as const
  const bill = await catalog.bills.findOne(filter, { session })
  if (bill === null) throw new BillingError(`there is no bill of invoice ${id}`, 'refused')
  if ((bill.paid_by ?? []).length > 0) throw new BillingError(`invoice ${id} is paid`, 'refused')
  await catalog.bills.deleteOne(filter, { session })
  await postRemoval(writer, bill)
  await catalog.billrun.deleteOne({ aid, billrun_key: key }, { session })
  await catalog.lines.deleteMany({ aid, billrun: key } as never, { session })
  await catalog.voidinvoices.insertOne(
    {
      _id: id,
      series: 'immediate',
      aid,
      billrun_key: key,
      reason,
      voided: new Date(nowMs),
    },
    { session },
  )
}
