/** Entry of the worker threads of a run (piscina). */
import { type MessagePort, workerData } from 'node:worker_threads'
import { type Catalog, openCatalog } from '../../catalog/connection.ts'
import { CatalogUnavailableError, EntityConflictError } from '../../catalog/errors.ts'
import { patienceOf } from '../../catalog/patience.ts'
import type { CycleCounts, CyclePageDocument } from '../../catalog/records/money/cycle-documents.ts'
import type { Config } from '../../config/schema.ts'
import { type ClockOffset, clockWith } from '../../runtime/clock.ts'
import { calendarOf } from '../credit/credits.ts'
import { computeAccount } from '../cycle/compute.ts'
import { type RunName, runCycleOf, runIdOf } from '../cycle/run-cycle.ts'
import type { Customers } from './account-source.ts'
import { PageLostError } from './pages.ts'
import { type PageDeps, processPage } from './process-page.ts'
import { type RunData, readRunData } from './run-data.ts'

export interface ThreadData {
  readonly config: Pick<Config, 'mongo' | 'rating' | 'billing' | 'entities' | 'invoices'>
  /** Offset of the installation's clock. */
  readonly ahead: ClockOffset | undefined
}

export interface ThreadTask {
  readonly name: RunName
  readonly aids: readonly number[]
  readonly customers: Customers
  readonly page: Pick<CyclePageDocument, '_id' | 'token'> | null
  readonly retried: number | undefined
  readonly generatePdf: boolean
  readonly turn: MessagePort
}

/** For the log of the process. */
export interface ThreadWarning {
  readonly invoice: number | undefined
  readonly reason: string
  readonly text: string
}

export type ThreadAnswer =
  | { readonly counts: CycleCounts; readonly warnings: readonly ThreadWarning[] }
  | { readonly kind: 'outage' | 'conflict' | 'lost' | 'other'; readonly message: string }

const { config, ahead } = (workerData ?? {}) as ThreadData
const clock = clockWith(ahead)

let opened: Promise<Catalog> | null = null
/** Data of one run, which the thread reads once. */
let shared: { readonly id: string; readonly data: RunData } | null = null

export async function processInThread(task: ThreadTask): Promise<ThreadAnswer> {
  try {
    const warnings: ThreadWarning[] = []
    return { counts: await run(task, warnings), warnings }
  } catch (error) {
    return { kind: kindOf(error), message: error instanceof Error ? error.message : String(error) }
  } finally {
    task.turn.close()
  }
}

async function run(
  { name, aids, customers, page, retried, generatePdf, turn }: ThreadTask,
  warnings: ThreadWarning[],
): Promise<CycleCounts> {
  opened ??= openCatalog({
    ...config.mongo,
    appName: 'tollgate-cycle',
    readTimeoutMs: config.entities.readTimeoutMs,
    // The run itself tells that it waits.
    patience: patienceOf(config.mongo.batchTimeoutMs, () => undefined),
  })
  const catalog = await opened
  const id = `${runIdOf(name)} ${page?._id.split(':')[0] ?? ''}`
  if (shared?.id !== id || page === null) shared = { id, data: await readRunData(catalog, config) }
  const { data } = shared
  const log: PageDeps['log'] = {
    warn({ err, invoice }: { err: Error; invoice?: number }, text: string) {
      warnings.push({ invoice, reason: err.message, text })
    },
  } as PageDeps['log']
  const deps = { catalog, clock, config, compute: computeAccount, log }
  const cycle = runCycleOf(name, calendarOf(config))
  const task = {
    run: cycle,
    data,
    aids,
    customers,
    page,
    generatePdf,
    ...(retried !== undefined && { retried }),
  }
  return processPage(deps, task, async () => {
    turn.postMessage('ready')
    const answer = await new Promise((resolve) => turn.once('message', resolve))
    if (answer !== 'go') throw new CatalogUnavailableError(String(answer))
  })
}

function kindOf(error: unknown): 'outage' | 'conflict' | 'lost' | 'other' {
  if (error instanceof CatalogUnavailableError) return 'outage'
  if (error instanceof EntityConflictError) return 'conflict'
  return error instanceof PageLostError ? 'lost' : 'other'
}
