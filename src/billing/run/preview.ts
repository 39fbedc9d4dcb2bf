/** Computes a run of a cycle without storing it, and compares it with a stored one. */
import type { Catalog } from '../../catalog/connection.ts'
import type { CycleLineDocument } from '../../catalog/records/cycle-line.ts'
import { Exact } from '../../catalog/records/exact-amount.ts'
import type { InvoiceDocument } from '../../catalog/records/invoice-document.ts'
import type { Fields } from '../../domain/fields.ts'
import { changedLines } from '../cycle/reconcile.ts'
import { keyAfter } from '../cycle-key.ts'
import {
  type AccountPage,
  type AccountSource,
  FIRST_PAGE,
  type OpenAccounts,
  type PagePlace,
} from './account-source.ts'
import { type Assumed, assumedData, assumedRevisions } from './assumed.ts'
import { PAGE_SIZE } from './pages.ts'
import { type ComputeAccount, computeOne } from './process-page.ts'
import { type AccountInput, readAccounts } from './read-accounts.ts'
import type { RunCycle } from './run-cycle.ts'
import { type RunConfig, type RunData, readRunData } from './run-data.ts'

export interface PreviewDeps {
  readonly catalog: Catalog
  readonly config: RunConfig
  readonly compute: ComputeAccount
  readonly openAccounts: OpenAccounts
}

export interface PreviewRequest {
  readonly cycle: RunCycle
  /** All accounts if null. */
  readonly aid: number | null
  readonly assumed: Assumed | null
  /** Key of the run to compare with: of the cycle, or of the one before it. */
  readonly comparedKey: string
  readonly nowMs: number
}

/** A line that differs; amounts before tax, as decimal text. */
export interface ChangedLine {
  /** Subscriber, kind, name, cycle and kind of charge, separated by `/`. */
  readonly line: string
  readonly from: string
  readonly to: string
  /** Null for a line that is not stored. */
  readonly stored: string | null
  readonly wanted: string | null
  readonly difference: string
}

export interface AccountPreview {
  readonly aid: number
  /** After tax; null without an invoice. */
  readonly total: string | null
  readonly stored: string | null
  readonly changes: readonly ChangedLine[]
  /** Why the account cannot be computed. */
  readonly failed?: string
}

/**
 * In the order of their numbers. Rejects with `CatalogUnavailableError` or `CustomerSystemError`.
 */
export async function* previewAccounts(
  { catalog, config, compute, openAccounts }: PreviewDeps,
  { cycle, aid, assumed, comparedKey, nowMs }: PreviewRequest,
): AsyncGenerator<AccountPreview> {
  const stored = await readRunData(catalog, config)
  const data = assumed === null ? stored : assumedData(stored, assumed)
  const source = await openAccounts()
  for await (const { aids, customers } of pagesOf(source, cycle, aid)) {
    const page = { cycle, aids, customers, data, assumed, comparedKey, nowMs }
    yield* await previewPage(catalog, compute, page)
  }
}

async function* pagesOf(
  source: AccountSource,
  cycle: RunCycle,
  aid: number | null,
): AsyncGenerator<AccountPage> {
  if (aid !== null) {
    yield { aids: [aid], customers: await source.customers(cycle, [aid]), next: null }
    return
  }
  for (let place: PagePlace = { after: 0, source: FIRST_PAGE }; ; ) {
    const page = await source.page(cycle, place, PAGE_SIZE)
    yield page
    if (page.next === null) return
    place = { after: page.aids.at(-1) ?? 0, source: page.next }
  }
}

interface Page extends Omit<PreviewRequest, 'aid'>, Omit<AccountPage, 'next'> {
  readonly data: RunData
}

async function previewPage(catalog: Catalog, compute: ComputeAccount, page: Page) {
  const { cycle, aids, customers, data, assumed, comparedKey, nowMs } = page
  const [inputs, lines, invoices] = await Promise.all([
    readAccounts(catalog, cycle, data, { aids, customers }, nowMs),
    readStoredLines(catalog, comparedKey, aids),
    readInvoices(catalog, comparedKey, aids),
  ])
  // Lines of the cycle before are those of this one a cycle earlier.
  const shift = comparedKey === cycle.key ? 0 : 1
  return [...inputs].map(([aid, read]): AccountPreview => {
    const own = lines.filter((line) => line['aid'] === aid).map((line) => shifted(line, shift))
    const invoice = invoices.find((one) => one.aid === aid)
    const former = invoice?.totals.exact.after_vat ?? null
    try {
      const result = computeOne(withAssumed(read, assumed), compute)
      const changes = changedLines(result?.lines ?? [], own).map((change) => changeOf(change))
      return { aid, total: result?.invoice.totals.exact.after_vat ?? null, stored: former, changes }
    } catch (error) {
      const failed = error instanceof Error ? error.message : String(error)
      return { aid, total: null, stored: former, changes: [], failed }
    }
  })
}

function withAssumed(read: AccountInput, assumed: Assumed | null): AccountInput {
  const { input } = read
  if (assumed === null || input instanceof Error) return read
  return { ...read, input: { ...input, ...assumedRevisions(input.aid, input, assumed) } }
}

/** Lines of other systems lack fields: the amount and the days of the cycle are taken instead. */
function shifted(line: Fields, shift: number): CycleLineDocument {
  const urt = line['urt'] as Date
  const { charged_billrun: key = line['billrun'], charge_amount: amount = line['aprice'] } = line
  const { start = urt, end = urt, discount_start = urt, discount_end = urt } = line
  const dates = { start, end, discount_start, discount_end }
  return {
    charge_op: 'charge',
    ...line,
    ...dates,
    charged_billrun: keyAfter(String(key), shift),
    charge_amount: String(amount ?? 0),
  } as unknown as CycleLineDocument
}

function changeOf({
  wanted,
  written,
  amount,
}: ReturnType<typeof changedLines>[number]): ChangedLine {
  const { key: line = '', span = { startMs: 0, endMs: 0 } } = wanted ?? written ?? {}
  return {
    line,
    from: new Date(span.startMs).toISOString(),
    to: new Date(span.endMs).toISOString(),
    stored: written?.amount.toString() ?? null,
    wanted: wanted?.amount.toString() ?? null,
    difference: new Exact(amount).toString(),
  }
}

async function readStoredLines(
  catalog: Catalog,
  billrun: string,
  aids: readonly number[],
): Promise<Fields[]> {
  const filter = { aid: { $in: [...aids] }, billrun, source: 'billrun' }
  const found = await catalog.read('read the lines of a run', (limits) =>
    catalog.lines.find(filter as never, limits).toArray(),
  )
  return found as unknown as Fields[]
}

async function readInvoices(
  catalog: Catalog,
  key: string,
  aids: readonly number[],
): Promise<{ readonly aid: number; readonly totals: InvoiceDocument['totals'] }[]> {
  const filter = { aid: { $in: [...aids] }, billrun_key: key }
  const found = await catalog.read('read the invoices of a run', (limits) =>
    catalog.billrun.find(filter, { ...limits, projection: { aid: 1, totals: 1 } }).toArray(),
  )
  return found as unknown as { aid: number; totals: InvoiceDocument['totals'] }[]
}
