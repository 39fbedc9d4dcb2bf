/** Computes and stores given accounts, without a run of the whole cycle. */
import type { CycleCounts } from '../../catalog/records/money/cycle-documents.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import { PAGE_SIZE } from './pages.ts'
import { readParked } from './parked.ts'
import type { RunDeps } from './participate.ts'
import { readRunData } from './run-data.ts'
import { NO_COUNTS, readRun } from './runs.ts'

type AccountsDeps = Pick<RunDeps, 'catalog' | 'config' | 'openAccounts' | 'workers'>

/**
 * Rejects with `CatalogUnavailableError` or `CustomerSystemError`; pages before it are stored then.
 */
export async function runAccounts(
  { catalog, config, openAccounts, workers }: AccountsDeps,
  run: RunCycle,
  aids: readonly number[],
): Promise<CycleCounts> {
  const data = await readRunData(catalog, config)
  const source = await openAccounts()
  const parked = await readParked({ catalog }, { run: run.id })
  const failed = new Set(parked.map(({ aid }) => aid))
  const generatePdf = (await readRun({ catalog }, run.id))?.generate_pdf === true
  const sorted = [...aids].sort((a, b) => a - b)
  let total = NO_COUNTS
  for (let at = 0; at < sorted.length; at += PAGE_SIZE) {
    const page = sorted.slice(at, at + PAGE_SIZE)
    const retried = page.filter((aid) => failed.has(aid)).length
    const customers = await source.customers(run, page)
    const task = { run, data, aids: page, customers, page: null, retried, generatePdf }
    total = sumOf(total, await workers.process(task, async () => undefined))
  }
  return total
}

/** Computes the failed accounts of a run again. */
export async function retryParked(
  deps: AccountsDeps,
  run: RunCycle,
  aids: readonly number[] | null,
): Promise<CycleCounts> {
  const parked = await readParked(deps, { run: run.id, state: 'parked' })
  const parkedAids = parked.map(({ aid }) => aid).filter((aid) => aids?.includes(aid) ?? true)
  return parkedAids.length === 0 ? NO_COUNTS : runAccounts(deps, run, parkedAids)
}

function sumOf(a: CycleCounts, b: CycleCounts): CycleCounts {
  return {
    accounts: a.accounts + b.accounts,
    invoices: a.invoices + b.invoices,
    empty: a.empty + b.empty,
    confirmed: a.confirmed + b.confirmed,
    failed: a.failed + b.failed,
  }
}
