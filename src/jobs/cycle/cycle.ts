/** Composition of the billing cycle: worker threads, documents, the state of this process. */
import { computeAccount } from '../../billing/cycle/compute.ts'
import { createDocuments, type Documents } from '../../billing/documents/documents.ts'
import type { OpenAccounts } from '../../billing/run/account-source.ts'
import { type DocumentThreads, documentThreads } from '../../billing/run/document-threads.ts'
import { MAIL_KIND, mailHandler } from '../../billing/run/invoice-mail.ts'
import type { PageWorkers, RunDeps } from '../../billing/run/participate.ts'
import type { ComputeAccount } from '../../billing/run/process-page.ts'
import { threadWorkers } from '../../billing/run/thread-workers.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Config } from '../../config/schema.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'

export interface CycleOptions {
  readonly catalog: Catalog
  /** The connection of batch work; `catalog` if absent, as in a command. */
  readonly batch?: Catalog
  readonly clock: Clock
  /** With the resolved address of MongoDB. */
  readonly config: Config
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly openAccounts: OpenAccounts
  /** Stands in for worker threads, in tests. */
  readonly startWorkers?: () => PageWorkers
  /** Stands in for the threads of documents, in tests. */
  readonly startDocuments?: () => DocumentThreads
  /** Stands in for the calculation, in tests. */
  readonly compute?: ComputeAccount
}

export interface CycleParts extends Pick<RunDeps, 'catalog' | 'clock' | 'log' | 'openAccounts'> {
  readonly config: Config
  /** The connection of runs and confirmations. */
  readonly batch: Catalog
  readonly documents: Documents
  /** Computes an account in this thread. */
  readonly compute: ComputeAccount
  /** Calls `act` with workers that exist until it ends. */
  withWorkers<T>(act: (workers: PageWorkers) => Promise<T>): Promise<T>
  /**
   * Why runs of this process stand still, by run; empty unless they wait for MongoDB or the
   * customer system.
   */
  readonly waiting: Map<string, string>
  stop(): Promise<void>
}

/** Also registers the handler of the outbox entries of e-mails. */
export function createCycle(options: CycleOptions): CycleParts {
  const { catalog, batch = catalog, clock, config, log, openAccounts } = options
  const { compute = computeAccount } = options
  const { startWorkers = () => threadWorkers(config, clock, { log }) } = options
  const { startDocuments = () => documentThreads({ catalog, config, clock }) } = options
  const open = new Set<PageWorkers>()
  const threads = startDocuments()
  const documents = createDocuments(config.invoices, threads.make)
  catalog.dispatcher.register({ [MAIL_KIND]: mailHandler({ catalog, config, documents }) }, log)
  return {
    catalog,
    batch,
    clock,
    config,
    log,
    documents,
    compute,
    openAccounts,
    waiting: new Map(),
    async withWorkers(act) {
      const workers = startWorkers()
      open.add(workers)
      try {
        return await act(workers)
      } finally {
        open.delete(workers)
        await workers.close()
      }
    },
    async stop() {
      await Promise.all([...open, threads].map((workers) => workers.close()))
    },
  }
}
