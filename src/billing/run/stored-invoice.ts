/** Exact amounts of a stored invoice. */
import {
  type Exact,
  Exact as ExactNumber,
  exactAmount,
} from '../../catalog/records/exact-amount.ts'
import type { InvoiceDocument } from '../../catalog/records/invoice-document.ts'

export interface BilledAmounts {
  /** After tax, in the smallest unit of the currency. */
  readonly due: Exact
  readonly beforeTax: Exact
  /** By key of the tax. */
  readonly taxes: Readonly<Record<string, Exact>>
}

export function invoicePartsOf({ totals }: Pick<InvoiceDocument, 'totals'>): BilledAmounts {
  const taxes: Record<string, Exact> = {}
  for (const { key, exact } of Object.values(totals.tax_data.taxes)) {
    taxes[key] = (taxes[key] ?? new ExactNumber(0)).plus(exact)
  }
  return {
    due: exactAmount(totals.after_vat_rounded),
    beforeTax: new ExactNumber(totals.exact.before_vat),
    taxes,
  }
}
