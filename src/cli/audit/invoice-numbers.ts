/** Checks that every number of an invoice was given to one invoice, or is void, and lists those. */
import { INVOICE_SERIES, type InvoiceSeries } from '../../billing/numbers.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { VoidInvoiceDocument } from '../../catalog/records/money/cycle-documents.ts'

export interface NumbersReport {
  ok: boolean
  /** Numbers that were given. */
  given: number
  missing: number[]
  double: number[]
  voids: Pick<VoidInvoiceDocument, '_id' | 'aid' | 'billrun_key' | 'reason'>[]
}

const LISTED_MAX = 1_000

/** Throws `CatalogUnavailableError`. */
export async function auditNumbers(catalog: Catalog): Promise<NumbersReport> {
  const report: NumbersReport = { ok: true, given: 0, missing: [], double: [], voids: [] }
  for (const [series, before] of Object.entries(INVOICE_SERIES)) {
    await auditSeries(catalog, series as InvoiceSeries, before, report)
  }
  report.ok = report.missing.length === 0 && report.double.length === 0
  return report
}

async function auditSeries(
  catalog: Catalog,
  series: InvoiceSeries,
  before: number,
  report: NumbersReport,
): Promise<void> {
  const counter = await catalog.counters.findOne({ _id: `invoices/${series}` })
  const last = before + (counter?.seq ?? 0)
  report.given += last - before
  let expected = before + 1
  const see = (number: number) => {
    if (number < expected) push(report.double, number)
    for (; expected < number; expected += 1) push(report.missing, expected)
    if (number === expected) expected += 1
  }
  for (let after = before; ; ) {
    const page = await readPage(catalog, after, last)
    for (const { number, isVoid } of page) {
      see(number)
      if (isVoid !== null) push(report.voids, isVoid)
    }
    const end = page.at(-1)
    if (end === undefined) break
    after = end.number
  }
  see(last + 1)
}

function push<T>(list: T[], item: T): void {
  if (list.length < LISTED_MAX) list.push(item)
}

interface UsedNumber {
  readonly number: number
  readonly isVoid: VoidInvoiceDocument | null
}

const PAGE_SIZE = 10_000

/** Numbers above `after`, ascending; both kinds up to the same number. */
async function readPage(catalog: Catalog, after: number, last: number): Promise<UsedNumber[]> {
  const within = { $gt: after, $lte: last }
  const [invoices, voids] = await Promise.all([
    catalog.billrun
      .find({ invoice_id: within }, { projection: { _id: 0, invoice_id: 1 } })
      .sort({ invoice_id: 1 })
      .limit(PAGE_SIZE)
      .toArray(),
    catalog.voidinvoices.find({ _id: within }).sort({ _id: 1 }).limit(PAGE_SIZE).toArray(),
  ])
  const found: UsedNumber[] = [
    ...invoices.map(({ invoice_id: number = 0 }) => ({ number, isVoid: null })),
    ...voids.map((each) => ({ number: each._id, isVoid: each })),
  ].sort((a, b) => a.number - b.number)
  // A full page may lack later numbers of its kind: the rest belongs to the next page.
  const ends = [
    invoices.length === PAGE_SIZE ? (invoices.at(-1)?.invoice_id ?? last) : last,
    voids.length === PAGE_SIZE ? (voids.at(-1)?._id ?? last) : last,
  ]
  return found.filter(({ number }) => number <= Math.min(...ends))
}

export function numbersLines({ ok, given, missing, double, voids }: NumbersReport): string[] {
  return [
    `invoice numbers: given ${given}, void ${voids.length}`,
    ...voids.map(({ _id, aid, billrun_key: key, reason }) => {
      return `invoice ${_id}: void: account ${aid}, cycle ${key}: ${reason}`
    }),
    ...missing.map((number) => `invoice ${number}: missing`),
    ...double.map((number) => `invoice ${number}: given twice`),
    ...(ok ? [] : ['the invoice numbers are not complete']),
  ]
}
