/** Looks for usage and credits that no invoice has, and none will have. */
import type { MoneyFormat } from '../../billing/currency.ts'
import type { CustomerSource } from '../../billing/customer-lookup.ts'
import { OtherLinesError } from '../../billing/documents/errors.ts'
import { loadInvoiceSource } from '../../billing/documents/load-invoice.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { type Patience, patienceOf, repeated } from '../../catalog/patience.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import { IS_UNINVOICED } from '../../catalog/records/usage/uninvoiced.ts'
import type { Config } from '../../config/schema.ts'
import { Unread } from './unread.ts'

/** Lines of an account in one cycle. */
export interface UninvoicedLines {
  readonly aid: number
  readonly cycle: string
  readonly reason: string
  /** Before tax, decimal text; absent if it is not known. */
  readonly amount?: string
}

export interface UninvoicedReport {
  ok: boolean
  /** Late lines that the next run of their account invoices. */
  waiting: number
  lost: UninvoicedLines[]
  /** Lines of accounts that an operator has left out. */
  skipped: UninvoicedLines[]
  /** Further ones. */
  leftOut: number
}

/** Newest cycles with confirmed invoices whose lines are compared with them. */
const CYCLES = 2
const LISTED_MAX = 1_000
const PAGE_SIZE = 1_000

/** Invoices that cannot be read are named in `unread`. Throws `CatalogUnavailableError`. */
export async function auditUninvoiced(
  source: CustomerSource,
  config: Pick<Config, 'rating'>,
  unread = new Unread(),
  patience = patienceOf(0, () => undefined),
): Promise<UninvoicedReport> {
  const report: UninvoicedReport = { ok: true, waiting: 0, lost: [], skipped: [], leftOut: 0 }
  const { catalog } = source
  await findMarked(source, report)
  for (const key of await confirmedKeys(catalog)) {
    await compareInvoices({ catalog, config, unread, patience }, key, report)
    await findSkipped(catalog, key, report)
  }
  report.ok = report.lost.length === 0 && unread.parts.length === 0
  return report
}

/**
 * Late lines of accounts that exist are in the next run; a customer system decides when it is asked
 * for the accounts of the run.
 */
async function findMarked(
  { catalog, lookup }: CustomerSource,
  report: UninvoicedReport,
): Promise<void> {
  const isOutside = (await lookup.accounts([], 0)) !== null
  for (let after = -1; ; ) {
    const found = await catalog.reads.lines
      .aggregate<{ _id: number; count: number; cycle: string }>([
        { $match: { aid: { $gt: after }, ...IS_UNINVOICED } },
        { $group: { _id: '$aid', count: { $sum: 1 }, cycle: { $min: '$billrun' } } },
        { $sort: { _id: 1 } },
        { $limit: PAGE_SIZE },
      ])
      .toArray()
    const aids = found.map(({ _id }) => _id)
    const known = await catalog.subscribers.distinct('aid', {
      aid: { $in: aids },
      deleted: { $ne: true },
    } as never)
    for (const { _id: aid, count, cycle } of found) {
      if (isOutside || (known as number[]).includes(aid)) report.waiting += count
      else add(report, 'lost', { aid, cycle, reason: NO_ACCOUNT })
    }
    if (found.length < PAGE_SIZE) return
    after = aids.at(-1) ?? after
  }
}

const NO_ACCOUNT = 'late lines of an account that does not exist'
const AFTER_CONFIRMATION = 'recorded after the confirmation of the invoice, by an older version'
const SKIPPED = 'the account was left out of the run'

async function confirmedKeys(catalog: Catalog): Promise<string[]> {
  const keys: string[] = []
  for (let before = '999999'; keys.length < CYCLES; ) {
    const filter = { billrun_key: { $regex: /^\d{6}$/, $lt: before }, billed: { $in: [1, 2] } }
    const [found] = await catalog.reads.billrun
      .find(filter, { projection: { billrun_key: 1 } })
      .sort({ billrun_key: -1 })
      .limit(1)
      .toArray()
    if (found === undefined) break
    keys.push(found.billrun_key)
    before = found.billrun_key
  }
  return keys
}

interface InvoiceReads {
  readonly catalog: Catalog
  readonly config: Pick<Config, 'rating'>
  readonly unread: Unread
  readonly patience: Patience
}

async function compareInvoices(
  { catalog, config, unread, patience }: InvoiceReads,
  key: string,
  report: UninvoicedReport,
): Promise<void> {
  for (let after = -1; ; ) {
    const filter = { aid: { $gt: after }, billrun_key: key, billed: { $in: [1, 2] } }
    const invoices = (await catalog.reads.billrun
      .find(filter)
      .sort({ aid: 1 })
      .limit(PAGE_SIZE)
      .toArray()) as BillrunDocument[]
    for (const invoice of invoices) {
      const { aid } = invoice
      const amount = await unread.orName(`invoice of account ${aid} for ${key}`, () =>
        repeated(() => amountBeyond(catalog, config, invoice), patience),
      )
      if (amount === null) continue
      add(report, 'lost', { aid, cycle: key, reason: AFTER_CONFIRMATION, amount })
    }
    const last = invoices.at(-1)
    if (last === undefined) return
    after = last.aid
  }
}

/** The charge of the lines of an invoice beyond it; lines that were removed are no finding. */
async function amountBeyond(
  catalog: Catalog,
  config: Pick<Config, 'rating'>,
  invoice: BillrunDocument,
): Promise<string | null> {
  try {
    await loadInvoiceSource(catalog, config, invoice)
    return null
  } catch (error) {
    if (!(error instanceof OtherLinesError)) throw error
    return error.difference.greaterThan(0) ? error.difference.toFixed() : null
  }
}

async function findSkipped(catalog: Catalog, key: string, report: UninvoicedReport): Promise<void> {
  const skipped = await catalog.cycleparked
    .find({ key, state: 'skipped' })
    .sort({ aid: 1 })
    .toArray()
  for (const { aid } of skipped) {
    const filter = { aid, billrun: key, source: { $ne: 'billrun' }, aprice: { $ne: 0 } }
    const found = await catalog.lines.findOne(filter as never, { projection: { _id: 1 } })
    if (found !== null) add(report, 'skipped', { aid, cycle: key, reason: SKIPPED })
  }
}

function add(report: UninvoicedReport, list: 'lost' | 'skipped', lines: UninvoicedLines): void {
  if (report[list].length < LISTED_MAX) report[list].push(lines)
  else report.leftOut += 1
}

export function uninvoicedLines(
  { waiting, lost, skipped, leftOut }: UninvoicedReport,
  money: MoneyFormat,
): string[] {
  return [
    `late lines for the next invoices: ${waiting}`,
    ...[...lost, ...skipped].map(({ aid, cycle, reason, amount }) => {
      const charge = amount === undefined ? '' : `: ${money(amount)}`
      return `account ${aid}: cycle ${cycle}: on no invoice: ${reason}${charge}`
    }),
    ...(leftOut > 0 ? [`and ${leftOut} more`] : []),
    ...(lost.length === 0 ? [] : ['there are lines that no invoice will have']),
  ]
}
