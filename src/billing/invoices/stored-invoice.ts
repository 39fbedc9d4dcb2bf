/** Stored invoices: those of a run, whether one is confirmed, exact amounts. */
import type { Filter } from '../../catalog/collections.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import {
  type Exact,
  Exact as ExactNumber,
  exactAmount,
} from '../../catalog/records/money/exact-amount.ts'
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'

/** The invoices of a run; of all accounts unless they have different invoicing days. */
export function invoicesOf({ key, invoicingDay, cycle }: RunCycle): Filter<BillrunDocument> {
  const ofKey = { billrun_key: key }
  return invoicingDay === null ? ofKey : { ...ofKey, end_date: new Date(cycle.endMs) }
}

/** Confirmed, or decided not to be billed. */
export function isConfirmed({ billed }: Pick<BillrunDocument, 'billed'>): boolean {
  return billed === 1 || billed === 2
}

/** Selects invoices that are neither confirmed nor decided not to be billed. */
export const UNCONFIRMED = { billed: { $in: [null, 0] } } as unknown as Filter<BillrunDocument>

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
