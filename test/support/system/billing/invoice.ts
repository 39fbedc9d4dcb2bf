/** Bills of invoices, as a cycle stores them. */
import { storeInvoiceBill } from '../../../../src/billing/invoices/invoice-bill.ts'
import type { Catalog } from '../../../../src/catalog/connection.ts'
import { Exact } from '../../../../src/catalog/records/exact-amount.ts'
import { ACTOR } from '../../billing/books.ts'

/** Due now, without tax. */
export async function storeInvoice(
  catalog: Catalog,
  aid: number,
  invoiceId: number,
  due: string,
): Promise<void> {
  const nowMs = Date.now()
  const amount = new Exact(due)
  await catalog.transaction('store an invoice', (session) =>
    storeInvoiceBill(
      { catalog, session, currencyCode: 978, actor: ACTOR, nowMs },
      {
        aid,
        invoiceId,
        billrunKey: '202601',
        due: amount,
        beforeTax: amount,
        taxes: {},
        dueDate: new Date(nowMs),
      },
    ),
  )
}
