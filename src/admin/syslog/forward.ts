/** The job that sends new audit records on, in the order of the chain. */
import { hostname } from 'node:os'
import type { ChainedRecord } from '../../catalog/audit/chain.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Config } from '../../config/schema.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { beginJob } from '../jobs/jobs.ts'
import type { JobHandler } from '../jobs/runner.ts'
import { syslogFrame } from './message.ts'
import { transmit } from './transmission.ts'

export interface ForwardParts {
  catalog: Catalog
  clock: Clock
  config: Pick<Config, 'audit'>
  metrics: Pick<Metrics, 'auditSent'>
}

/** Records of one transmission; each is below 256 KiB. */
const BATCH = 100
/** Between two looks for new records. */
const LOOK_MS = 1_000
const POSITION = 'syslog'

export function forwardHandler({ catalog, clock, config, metrics }: ForwardParts): JobHandler {
  const { syslog } = config.audit
  return async (held, signal) => {
    // The settings are others than when it was begun.
    if (syslog.host === '') return null
    while (!signal.aborted) {
      const position = await catalog.run('read how far the audit was sent', () =>
        catalog.auditchain.findOne({ _id: POSITION }),
      )
      const records = (await catalog.run('read the audit', () =>
        catalog.audit
          .find({ 'chain.seq': { $gt: position?.seq ?? 0 } })
          .sort({ 'chain.seq': 1 })
          .limit(BATCH)
          .toArray(),
      )) as ChainedRecord[]
      const last = records.at(-1)
      if (last === undefined) break
      await transmit(
        syslog,
        records.map((record) => syslogFrame(record, hostname(), syslog.facility)),
      )
      // Only who still has the job moves the position; what was sent twice is told by its number.
      held.count('sent', records.length)
      await held.saveProgress('send')
      const { seq, hash } = last.chain
      await catalog.run('note how far the audit was sent', () =>
        catalog.auditchain.updateOne({ _id: POSITION }, { $set: { seq, hash } }, { upsert: true }),
      )
      metrics.auditSent(records.length)
    }
    return clock.nowMs() + LOOK_MS
  }
}

/** Begins it where the settings name a receiver. Rejects with `CatalogUnavailableError`. */
export async function beginForwarding({
  catalog,
  clock,
  config,
}: Pick<ForwardParts, 'catalog' | 'clock' | 'config'>): Promise<void> {
  if (config.audit.syslog.host === '') return
  const actor = { by: 'node', id: '', name: '', address: '' } as const
  await beginJob({ catalog, clock }, { kind: 'syslog', subject: 'audit', options: {}, actor })
}
