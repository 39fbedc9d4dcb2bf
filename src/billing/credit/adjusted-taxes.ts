/** Taxes of credit notes: those of the invoices that they adjust, whatever the date of the note. */
import type { Catalog } from '../../catalog/connection.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type { LineTax, TaxRule } from '../../domain/tax.ts'
import { rulesOfTaxes } from '../../rating/line-tax.ts'
import { CreditProcessError } from './credit-request.ts'

/** How lines of an invoice are taxed. */
export interface TaxedLines {
  /** Rate of these lines; null of plans and services, and if it is not known. */
  readonly rate: string | null
  readonly taxes: readonly TaxRule[]
}

/** Each once; empty for no invoice of the account. */
export async function readAdjustedTaxes(
  catalog: Catalog,
  aid: number,
  invoiceIds: readonly number[],
): Promise<TaxedLines[]> {
  const invoices = await catalog.billrun
    .find({ aid, invoice_id: { $in: [...invoiceIds] } })
    .project<Pick<InvoiceDocument, 'billrun_key' | 'tax_rules'>>({ billrun_key: 1, tax_rules: 1 })
    .toArray()
  const found = new Map<string, TaxedLines>()
  for (const { billrun_key: billrun, tax_rules: rules } of invoices) {
    const lines = (await catalog.lines
      .find({ aid, billrun } as never, { projection: { arate_key: 1, aprice: 1, tax_data: 1 } })
      .toArray()) as unknown as readonly StoredLine[]
    const taxed = lines.filter(({ aprice }) => aprice !== 0).map(taxedLines)
    // The lines may be gone, after their retention.
    for (const one of lines.length === 0 ? ofInvoice(rules) : taxed) {
      found.set(JSON.stringify(one), one)
    }
  }
  return [...found.values()]
}

interface StoredLine {
  readonly arate_key?: string
  readonly aprice?: number
  readonly tax_data?: { readonly taxes: readonly LineTax[] }
}

function taxedLines({ arate_key: rate, tax_data: data }: StoredLine): TaxedLines {
  return { rate: rate ?? null, taxes: rulesOfTaxes(data?.taxes ?? []) }
}

/** A tax whose rate has changed has both as `KEY` and `KEY rate`. */
function ofInvoice(rules: InvoiceDocument['tax_rules'] = {}): TaxedLines[] {
  return Object.entries(rules).map(([id, { description, type, tax, embed_tax: isEmbedded }]) => {
    const [key = id] = id.split(' ')
    return { rate: null, taxes: [{ key, description, type, rate: String(tax), isEmbedded }] }
  })
}

/**
 * The taxes of a line of a credit note. `own`: those of its rate at its time; null if they do not
 * exist then. The lines of the same rate decide, then the only taxes of the invoices, then those
 * with the same keys, and of several the ones that were in force at the time of the line. Pure;
 * throws `CreditProcessError`.
 */
export function adjustedTaxes(
  adjusted: readonly TaxedLines[],
  rateKey: string,
  own: readonly TaxRule[] | null,
): readonly TaxRule[] {
  const ofRate = adjusted.filter(({ rate }) => rate === rateKey)
  let left = distinct(ofRate.length > 0 ? ofRate : adjusted)
  for (const isLike of [isAlikeTaxed, hasSameKeys, hasSameRates]) {
    if (left.length <= 1) break
    const closer = left.filter((taxes) => own !== null && isLike(taxes, own))
    if (closer.length > 0) left = closer
  }
  const [taxes] = left
  if (taxes !== undefined && left.length === 1) return taxes
  const several = left.map((each) => each.map(({ key, rate }) => `${key} ${rate}`).join(' + '))
  throw new CreditProcessError(
    `rate ${rateKey}: the invoices have the taxes ${several.join(', ')}: a credit_time at which ` +
      'one of them was in force decides',
    { path: 'credit_time' },
  )
}

function distinct(lines: readonly TaxedLines[]): (readonly TaxRule[])[] {
  return [...new Map(lines.map(({ taxes }) => [textOf(taxes), taxes])).values()]
}

function textOf(taxes: readonly TaxRule[]): string {
  return taxes.map(({ key, rate, isEmbedded }) => [key, new Exact(rate), isEmbedded]).join()
}

function isAlikeTaxed(taxes: readonly TaxRule[], own: readonly TaxRule[]): boolean {
  return taxes.length > 0 === own.length > 0
}

function hasSameKeys(taxes: readonly TaxRule[], own: readonly TaxRule[]): boolean {
  const keysOf = (rules: readonly TaxRule[]) => rules.map(({ key }) => key).join()
  return keysOf(taxes) === keysOf(own)
}

function hasSameRates(taxes: readonly TaxRule[], own: readonly TaxRule[]): boolean {
  return textOf(taxes) === textOf(own)
}
