/** Removes finished imports and jobs after their retention time. */
import type { ImportProgressDocument } from '../../catalog/records/import-document.ts'
import type { Removal } from './removal.ts'

const BATCH = 100

export async function removeImports(removal: Removal): Promise<void> {
  const { catalog, beforeMs, signal, onBatch } = removal
  const filter = { kind: 'progress', state: 'done', changed: { $lt: new Date(beforeMs) } } as const
  while (!signal.aborted) {
    const found = await catalog.run('find old imports', () =>
      catalog.imports.find(filter).limit(BATCH).toArray(),
    )
    if (found.length === 0) return
    for (const { _id } of found as ImportProgressDocument[]) {
      // Ids of failed rows are the id of the import, a slash and a suffix.
      const rows = { kind: 'failures', _id: { $gte: `${_id}/`, $lt: `${_id}0` } } as const
      await catalog.run('delete failed rows', () => catalog.imports.deleteMany(rows))
    }
    const ids = found.map(({ _id }) => _id)
    const { deletedCount } = await catalog.run('delete old imports', () =>
      catalog.imports.deleteMany({ _id: { $in: ids } }),
    )
    await onBatch(deletedCount)
  }
}

export async function removeJobs(removal: Removal): Promise<void> {
  const { catalog, beforeMs, signal, onBatch } = removal
  const filter = { state: 'done', ended: { $lt: new Date(beforeMs) } } as const
  while (!signal.aborted) {
    const found = await catalog.run('find old jobs', () =>
      catalog.jobs
        .find(filter, { projection: { _id: 1 } })
        .limit(BATCH)
        .toArray(),
    )
    if (found.length === 0) return
    const ids = found.map(({ _id }) => _id)
    const { deletedCount } = await catalog.run('delete old jobs', () =>
      catalog.jobs.deleteMany({ _id: { $in: ids } }),
    )
    await onBatch(deletedCount)
  }
}
