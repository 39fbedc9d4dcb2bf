/** Computes a run of a cycle without storing it, and compares it with a stored one. */
import type { Catalog } from '../../catalog/connection.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type { CycleCatalogue } from '../cycle/compute.ts'
import { changedLines } from '../cycle/reconcile.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import type { TaxChange } from '../cycle/written-taxes.ts'
import {
  type AccountPage,
  type AccountSource,
  FIRST_PAGE,
  type OpenAccounts,
  type PagePlace,
} from './account-source.ts'
import { type Assumed, assumedData, withAssumed } from './assumed.ts'
import { type ChangedLine, changeOf, comparableLine, readStoredLines } from './changed-lines.ts'
import { readUnreturned, type UnreturnedLine } from './not-returned.ts'
import { PAGE_SIZE } from './pages.ts'
import { type PriceChange, priceChangesOf, withOtherRule } from './price-changes.ts'
import { type ComputeAccount, computeOne } from './process-page.ts'
import { type AccountInput, readAccounts } from './read-accounts.ts'
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
  /** Earlier cycles whose confirmed invoices are computed again, to find what no run corrects. */
  readonly back: number
  readonly nowMs: number
  /** Only accounts behind it, in the order of their numbers. */
  readonly after?: number
  /** Accounts that are computed without a pause for others. */
  readonly pageSize?: number
}

export interface AccountPreview {
  readonly aid: number
  /** After tax; null without an invoice. */
  readonly total: string | null
  readonly stored: string | null
  readonly changes: readonly ChangedLine[]
  /** Usage and credits, before tax; `stored`: those of the stored invoice. */
  readonly others: { readonly wanted: string; readonly stored: string }
  /** Charges whose price changes within the charged period. */
  readonly price_changes: readonly PriceChange[]
  /** Charges that keep other taxes than those at the end of their supply. */
  readonly tax_changes: readonly TaxChange[]
  /** Lines of earlier confirmed invoices that no run corrects. */
  readonly not_returned: readonly UnreturnedLine[]
  /** Why the account cannot be computed. */
  readonly failed?: string
}

/**
 * In the order of their numbers. Rejects with `CatalogUnavailableError` or `CustomerSystemError`.
 */
export async function* previewAccounts(
  { catalog, config, compute, openAccounts }: PreviewDeps,
  { aid, after = 0, pageSize = PAGE_SIZE, ...request }: PreviewRequest,
): AsyncGenerator<AccountPreview> {
  const { cycle, assumed } = request
  const stored = await readRunData(catalog, config)
  const data = assumed === null ? stored : assumedData(stored, assumed)
  const otherRule = withOtherRule(data.catalogue)
  const source = await openAccounts()
  for await (const { aids, customers } of pagesOf(source, { cycle, aid, after, pageSize })) {
    const page = { ...request, source, aids, customers, data, otherRule }
    yield* await previewPage(catalog, compute, page)
  }
}

interface Pages extends Pick<PreviewRequest, 'cycle' | 'aid'> {
  readonly after: number
  readonly pageSize: number
}

async function* pagesOf(
  source: AccountSource,
  { cycle, aid, after, pageSize }: Pages,
): AsyncGenerator<AccountPage> {
  if (aid !== null) {
    yield { aids: [aid], customers: await source.customers(cycle, [aid]), next: null }
    return
  }
  for (let place: PagePlace = { after, source: FIRST_PAGE }; ; ) {
    const page = await source.page(cycle, place, pageSize)
    yield page
    if (page.next === null) return
    place = { after: page.aids.at(-1) ?? 0, source: page.next }
  }
}

interface Page
  extends Omit<PreviewRequest, 'aid' | 'after' | 'pageSize'>,
    Omit<AccountPage, 'next'> {
  readonly source: AccountSource
  readonly data: RunData
  /** The catalogue with the other rule for prices that change. */
  readonly otherRule: CycleCatalogue
}

async function previewPage(catalog: Catalog, compute: ComputeAccount, page: Page) {
  const { cycle, aids, customers, data, assumed, comparedKey, nowMs } = page
  const [inputs, lines, invoices, unreturned] = await Promise.all([
    readAccounts(catalog, cycle, data, { aids, customers }, nowMs),
    readStoredLines(catalog, comparedKey, aids),
    readInvoices(catalog, comparedKey, aids),
    readUnreturned(catalog, compute, page),
  ])
  // Lines of the cycle before are those of this one a cycle earlier, without usage that was late.
  const isSame = comparedKey === cycle.key
  const comparable = isSame ? lines : lines.filter(({ type }) => type !== 'usage')
  return [...inputs].map(([aid, read]): AccountPreview => {
    const own = comparable.filter((line) => line['aid'] === aid)
    const invoice = invoices.find((one) => one.aid === aid)
    const former = {
      stored: invoice?.totals.exact.after_vat ?? null,
      not_returned: unreturned.get(aid) ?? [],
    }
    const stored = othersOf(invoice, own)
    try {
      const supposed = withAssumed(read, assumed)
      const result = computeOne(supposed, compute)
      const due = result?.lines ?? []
      const before = own.map((line) => comparableLine(line, isSame ? 0 : 1))
      return {
        aid,
        total: result?.invoice.totals.exact.after_vat ?? null,
        ...former,
        changes: changedLines(due, before).map((change) => changeOf(change)),
        others: { wanted: othersOf(result?.invoice, due), stored },
        price_changes: priceChangesOf(due, data.catalogue, () =>
          linesBy(page.otherRule, supposed, compute),
        ),
        tax_changes: result?.taxChanges ?? [],
      }
    } catch (error) {
      const failed = error instanceof Error ? error.message : String(error)
      const nothing = { total: null, changes: [], price_changes: [], tax_changes: [] }
      return { aid, ...former, ...nothing, others: { wanted: '0', stored }, failed }
    }
  })
}

function linesBy(catalogue: CycleCatalogue, read: AccountInput, compute: ComputeAccount) {
  const { input } = read
  if (input instanceof Error) return []
  return computeOne({ ...read, input: { ...input, catalogue } }, compute)?.lines ?? []
}

/** The sum of an invoice without the lines of the run, before tax. */
function othersOf(
  invoice: { readonly totals: InvoiceDocument['totals'] } | undefined,
  lines: readonly object[],
): string {
  const prices = lines.map((line) => {
    const { exact, aprice } = line as { exact?: { aprice?: string }; aprice?: number }
    return new Exact(exact?.aprice ?? aprice ?? 0)
  })
  const total = new Exact(invoice?.totals.exact.before_vat ?? 0)
  return prices.reduce((left, price) => left.minus(price), total).toString()
}

async function readInvoices(
  catalog: Catalog,
  key: string,
  aids: readonly number[],
): Promise<{ readonly aid: number; readonly totals: InvoiceDocument['totals'] }[]> {
  const filter = { aid: { $in: [...aids] }, billrun_key: key }
  const found = await catalog.reads.billrun
    .find(filter, { projection: { aid: 1, totals: 1 } })
    .toArray()
  return found as unknown as { aid: number; totals: InvoiceDocument['totals'] }[]
}
