/** Reads an invoice with its lines and settings for its documents. */
import type { Catalog } from '../../catalog/connection.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import type { Config } from '../../config/schema.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import { readInvoicedLines } from '../invoices/invoiced-lines.ts'
import { invoiceSource, SourceLines } from './read-invoice.ts'
import type { InvoiceSource } from './source.ts'

/**
 * `document`: a stored invoice. Rejects with `BillingError` if its lines are no longer those of its
 * total, and with `CatalogUnavailableError`.
 */
export async function loadInvoiceSource(
  catalog: Catalog,
  { rating }: Pick<Config, 'rating'>,
  document: BillrunDocument,
): Promise<InvoiceSource> {
  const lines = new SourceLines()
  for await (const batch of readInvoicedLines(catalog, document)) lines.add(batch)
  const { value: settings } = await readCategory(catalog, 'invoices')
  const { currencyCode, timeZone } = rating
  const dated = await withAdjustedDates(catalog, document)
  return invoiceSource(dated, lines, { settings, currencyCode, timeZone })
}

/** The invoices that a credit note corrects, with their dates. */
async function withAdjustedDates(
  catalog: Catalog,
  document: BillrunDocument,
): Promise<BillrunDocument> {
  const { aid, adjusts } = document
  if (!Array.isArray(adjusts) || adjusts.length === 0) return document
  const entries = adjusts.filter(isObject)
  const ids = entries.map(({ invoice_id: id }) => id)
  const found = await catalog.billrun
    .find({ aid, invoice_id: { $in: ids as number[] } })
    .project<Fields>({ invoice_id: 1, invoice_date: 1 })
    .toArray()
  const dates = new Map(found.map((one) => [one['invoice_id'], one['invoice_date']]))
  const dated = entries.map((entry) => ({ ...entry, invoice_date: dates.get(entry['invoice_id']) }))
  return { ...document, adjusts: dated }
}
