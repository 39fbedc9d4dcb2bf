/** Computes and stores one page of accounts. */
import type { Catalog } from '../../catalog/connection.ts'
import { CatalogUnavailableError, EntityConflictError } from '../../catalog/errors.ts'
import type { CycleCounts, CyclePageDocument } from '../../catalog/records/money/cycle-documents.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { currencyDigits } from '../currency.ts'
import type { AccountCycle, AccountInvoice } from '../cycle/compute.ts'
import { withBalance } from '../cycle/invoice.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import { createDocuments } from '../documents/documents.ts'
import { documentMaker } from '../documents/make.ts'
import { markedLines } from '../invoices/input-lines.ts'
import type { Customers } from './account-source.ts'
import { inputDigest } from './input-digest.ts'
import { writeDrafts } from './invoice-files.ts'
import { endPage, PageLostError } from './pages.ts'
import { type AccountInput, readAccounts } from './read-accounts.ts'
import type { RunConfig, RunData } from './run-data.ts'
import { NO_COUNTS } from './runs.ts'
import { type StoredResult, storeAccounts } from './store-accounts.ts'

export type ComputeAccount = (input: AccountCycle) => AccountInvoice | null

/** Waits until the page may be stored: pages of a process are stored in their order. */
export type AwaitTurn = () => Promise<void>

export interface PageDeps {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly config: RunConfig
  readonly compute: ComputeAccount
  readonly log: Pick<Logger, 'warn'>
}

export interface PageTask {
  readonly run: RunCycle
  readonly data: RunData
  /** Accounts, without those that an operator has skipped. */
  readonly aids: readonly number[]
  readonly customers: Customers
  /** The claimed page; null for accounts that are computed on their own. */
  readonly page: Pick<CyclePageDocument, '_id' | 'token'> | null
  /** Whether PDF drafts of the invoices are written after they are stored. */
  readonly generatePdf?: boolean
  /** Accounts of `aids` that the run has counted as failed. */
  readonly retried?: number
}

/**
 * Accounts that fail are parked, and do not affect the others. Rejects with
 * `CatalogUnavailableError`, or `PageLostError`.
 */
export async function processPage(
  deps: PageDeps,
  task: PageTask,
  awaitTurn: AwaitTurn = async () => undefined,
): Promise<CycleCounts> {
  const nowMs = deps.clock.nowMs()
  const results = await computeAll(deps, task, nowMs)
  await awaitTurn()
  const counts = await storeAll(deps, task, results, nowMs)
  if (task.generatePdf === true) {
    // In this thread, which is one of the run.
    const documents = createDocuments(deps.config.invoices, documentMaker(deps))
    await writeDrafts({ ...deps, documents }, task.run.key, task.aids)
  }
  return counts
}

async function storeAll(
  deps: PageDeps,
  task: PageTask,
  results: readonly StoredResult[],
  nowMs: number,
): Promise<CycleCounts> {
  try {
    return await store(deps, task, results, nowMs)
  } catch (error) {
    if (isOfStore(error)) throw error
    return storeEach(deps, task, results, nowMs)
  }
}

function isOfStore(error: unknown): boolean {
  return (
    error instanceof CatalogUnavailableError ||
    error instanceof EntityConflictError ||
    error instanceof PageLostError
  )
}

async function computeAll(
  { catalog, compute }: PageDeps,
  { run, data, aids, customers }: PageTask,
  nowMs: number,
): Promise<StoredResult[]> {
  const inputs = await readAccounts(catalog, run, data, { aids, customers }, nowMs)
  return [...inputs].map(([aid, read]) => {
    try {
      return { aid, outcome: computeOne(read, compute), left: markedLines(read.lines) }
    } catch (error) {
      return { aid, outcome: error instanceof Error ? error : new Error(String(error)) }
    }
  })
}

/** The invoice, with what its account owed before and the lines that it was computed from. */
export function computeOne(
  { input, balance, lines }: AccountInput,
  compute: ComputeAccount,
): AccountInvoice | null {
  if (input instanceof Error) throw input
  const result = compute(input)
  if (result === null) return null
  const preponed = new Set(result.prepone)
  const moved = input.laterInstallments.filter(({ stamp }) => preponed.has(stamp))
  const digits = currencyDigits(input.settings.currencyCode)
  const document = result.invoice
  const invoice =
    balance === undefined ? document : withBalance(document, balance, { currencyDigits: digits })
  const digest = { input: inputDigest(lines, moved) }
  return { ...result, invoice: { ...invoice, ...digest } }
}

async function store(
  { catalog, clock }: PageDeps,
  { run: cycle, data, page, retried = 0 }: PageTask,
  results: readonly StoredResult[],
  nowMs: number,
): Promise<CycleCounts> {
  const stores = { catalog, clock }
  return catalog.transaction('store invoices of the cycle', async (session) => {
    if (page !== null) await endPage(stores, session, page)
    const run = { cycle, data, nowMs }
    const counts =
      results.length === 0 ? NO_COUNTS : await storeAccounts(stores, session, run, results)
    if (page !== null || retried > 0) {
      const { accounts, failed, ...others } = counts
      const isPage = page !== null
      const more = { ...others, accounts: isPage ? accounts : 0, failed: failed - retried }
      const added = Object.entries(more).map(([name, count]) => [`counts.${name}`, count])
      await catalog.cycleruns.updateOne(
        { _id: cycle.id },
        { $inc: Object.fromEntries(added), $set: { changed: new Date(clock.nowMs()) } },
        { session },
      )
    }
    return counts
  })
}

/** One account of the page cannot be stored: it is found by storing each on its own. */
async function storeEach(
  deps: PageDeps,
  task: PageTask,
  results: readonly StoredResult[],
  nowMs: number,
): Promise<CycleCounts> {
  const kept: StoredResult[] = []
  for (const result of results) {
    try {
      await store(deps, { ...task, page: null }, [result], nowMs)
      kept.push(result)
    } catch (error) {
      if (isOfStore(error)) throw error
      const reason = error instanceof Error ? error.message : String(error)
      const text = `account ${result.aid}: its invoice cannot be stored: ${reason}`
      kept.push({ aid: result.aid, outcome: new Error(text) })
    }
  }
  return store(deps, task, kept, nowMs)
}
