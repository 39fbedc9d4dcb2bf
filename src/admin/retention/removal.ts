/** Parameters of retention jobs. */
import type { Catalog } from '../../catalog/connection.ts'
import type { Config } from '../../config/schema.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Metrics } from '../../runtime/metrics.ts'

export type RetentionConfig = Pick<Config, 'retention' | 'audit' | 'secrets' | 'ledger'>

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
   * Called after each batch: saves the progress, and pauses. Rejects like
   * `ClaimedJob.saveProgress`.
   */
  onBatch(removed: number): Promise<void>
}
