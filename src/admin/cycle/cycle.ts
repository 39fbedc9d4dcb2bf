/** Composition of the billing cycle: stores, worker threads, the state of this process. */
import { computeAccount } from '../../billing/cycle/compute.ts'
import type { OpenAccounts } from '../../billing/run/account-source.ts'
import type { PageWorkers, RunDeps } from '../../billing/run/participate.ts'
import type { ComputeAccount } from '../../billing/run/process-page.ts'
import { threadWorkers } from '../../billing/run/thread-workers.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Config } from '../../config/schema.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'

export interface CycleOptions {
  readonly catalog: Catalog
  readonly clock: Clock
  /** With the resolved address of MongoDB. */
  readonly config: Config
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly openAccounts: OpenAccounts
  /** Stands in for worker threads, in tests. */
  readonly startWorkers?: () => PageWorkers
  /** Stands in for the calculation, in tests. */
  readonly compute?: ComputeAccount
}

export interface CycleParts extends Pick<RunDeps, 'catalog' | 'clock' | 'log' | 'openAccounts'> {
  readonly config: Config
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

export function createCycle(options: CycleOptions): CycleParts {
  const { catalog, clock, config, log, openAccounts } = options
  const { compute = computeAccount } = options
  const { startWorkers = () => threadWorkers(config, clock, { log }) } = options
  const open = new Set<PageWorkers>()
  return {
    catalog,
    clock,
    config,
    log,
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
      await Promise.all([...open].map((workers) => workers.close()))
    },
  }
}
