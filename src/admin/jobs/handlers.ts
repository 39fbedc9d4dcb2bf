/** What is done under each kind of job. */
import type { EntityApi } from '../entities/api.ts'
import { eraseHandler } from '../privacy/erase.ts'
import { type RetentionParts, retentionHandler } from '../retention/retention.ts'
import type { JobHandlers } from './runner.ts'

export function jobHandlers(
  { stores, fields }: Pick<EntityApi, 'stores' | 'fields'>,
  { config, metrics }: Pick<RetentionParts, 'config' | 'metrics'>,
): JobHandlers {
  const { catalog, ledger, clock } = stores
  return {
    erase: eraseHandler({ stores, fields }),
    retention: retentionHandler({ catalog, ledger, clock, config, metrics }),
  }
}
