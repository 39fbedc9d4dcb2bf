import { type InvoiceBill, storeInvoiceBill } from '../../../src/billing/invoices/invoice-bill.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import { ACTOR } from './books.ts'

type GivenInvoice = Partial<Omit<InvoiceBill, 'due'>> &
  Pick<InvoiceBill, 'aid' | 'invoiceId'> & { due: Exact | number | string; nowMs: number }

/** Stores the bill of an invoice as a cycle does: due at once and without tax by default. */
export async function storeInvoice(catalog: Catalog, given: GivenInvoice): Promise<void> {
  const { nowMs, ...more } = given
  const due = new Exact(given.due)
  const plain = { billrunKey: '202606', beforeTax: due, taxes: {}, dueDate: new Date(nowMs) }
  await catalog.transaction('store an invoice', (session) => {
    const stores = { catalog, session, currencyCode: 978, actor: ACTOR, nowMs }
    return storeInvoiceBill(stores, { ...plain, ...more, due })
  })
}
