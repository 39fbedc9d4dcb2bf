/** Parameters of retention jobs. */
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Config } from '../../config/schema.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Metrics } from '../../runtime/metrics.ts'

export type RetentionConfig = Pick<
  Config,
  'retention' | 'audit' | 'secrets' | 'ledger' | 'reports' | 'data'
>

export interface RetentionParts {
  catalog: Catalog
  ledger: Ledger
  clock: Clock
  config: RetentionConfig
  metrics: Pick<Metrics, 'retentionRemoved' | 'retentionEnded'>
}

/** Parameters for the removal from one collection. */
export interface Removal extends RetentionParts {
  /** Older documents are removed, epoch ms. */
  beforeMs: number
  signal: AbortSignal
  /**
   * Removes a batch and saves the progress in one transaction, and pauses. `remove` returns the
   * number of removed documents. Rejects like `ClaimedJob.commitBatch`.
   */
  removeBatch(remove: (session: ClientSession) => Promise<number>): Promise<void>
}
