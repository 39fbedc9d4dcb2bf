/** Removes old audit records; the hash chain of the remaining ones stays valid. */
import { storeRemovedRuns } from '../../catalog/audit/removed-runs.ts'
import type { Removal } from './retention.ts'

const BATCH = 500

export async function removeAudit(removal: Removal): Promise<void> {
  const { catalog, config, beforeMs, signal, onBatch } = removal
  const before = new Date(beforeMs)
  while (!signal.aborted) {
    const found = await catalog.run('look for old records of the audit', () =>
      catalog.audit
        .find({ urt: { $lt: before } }, { projection: { chain: 1 } })
        .sort({ urt: 1, _id: 1 })
        .limit(BATCH)
        .toArray(),
    )
    if (found.length === 0) return
    const links = found.flatMap(({ chain }) => chain ?? [])
    await storeRemovedRuns(catalog, links, config.secrets.key)
    const ids = found.map(({ _id }) => _id)
    const { deletedCount } = await catalog.run('delete old records of the audit', () =>
      catalog.audit.deleteMany({ _id: { $in: ids } }),
    )
    await onBatch(deletedCount)
  }
}
