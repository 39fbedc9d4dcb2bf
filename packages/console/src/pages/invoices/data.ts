/** Invoices of accounts and cycles, and the document of one. */
import { get, getAnswer } from '../../api/client.ts'
import type { DecimalText, Figure } from '../../api/figures.ts'
import type { Fields, Page } from '../../api/records.ts'

const PAGE_SIZE = 50

/** Parameters of the list; null if the address names nothing, as there may be millions. */
export function filterIn(query: Readonly<Record<string, string>>): object | null {
  const { aid = '', cycle = '', number = '' } = query
  if (`${aid}${cycle}${number}` === '') return null
  return {
    ...(aid !== '' && { aid }),
    ...(cycle !== '' && { billrun_key: cycle }),
    ...(number !== '' && { query: JSON.stringify({ invoice_id: number }) }),
  }
}

/** `after`: number of the page. */
export async function readInvoices(
  filter: object,
  after: string | null,
  signal: AbortSignal,
): Promise<Page<Fields>> {
  const page = Number(after ?? 0)
  const query = { action: 'query', ...filter, page, size: PAGE_SIZE }
  const answer = await getAnswer('api/accountinvoices', query, { signal })
  const { details, next_page: hasNext } = answer
  return { rows: details as readonly Fields[], next: hasNext ? String(page + 1) : null }
}

interface Period {
  readonly from: string
  readonly to: string
}

export interface InvoiceLine {
  readonly sid: Figure
  readonly name: string
  readonly description: string
  readonly quantity: DecimalText
  readonly usage_type: string | null
  readonly period: Period | null
  readonly amount: DecimalText
  readonly tax_group: string
}

export interface TaxGroup {
  readonly id: string
  readonly base: DecimalText
  readonly tax: DecimalText
  readonly taxes: readonly {
    readonly description: string
    readonly rate: DecimalText
    readonly amount: DecimalText
  }[]
}

/** The format `json`: days as `YYYY-MM-DD`, amounts as decimal texts. */
export interface Invoice {
  readonly type: 'invoice' | 'credit_note'
  readonly invoice_date: string
  readonly due_date: string | null
  readonly billrun_key: string
  readonly currency: string | null
  readonly period: Period | null
  readonly adjusts: readonly { readonly invoice_id: Figure }[]
  readonly buyer: Readonly<Record<'name' | 'street' | 'zip_code' | 'city' | 'country', string>>
  readonly lines: readonly InvoiceLine[]
  readonly taxes: readonly TaxGroup[]
  readonly totals: Readonly<
    Record<'before_tax' | 'tax' | 'after_tax' | 'rounding' | 'payable', DecimalText>
  >
  /** Why no e-invoice can be made; null if one can. */
  readonly e_invoice_refused: string | null
}

export async function readInvoice(aid: string, iid: string, signal: AbortSignal): Promise<Invoice> {
  const query = { action: 'download', aid, iid, format: 'json' }
  return (await get('api/accountinvoices', query, { signal })) as unknown as Invoice
}
