/** Removes finished imports, jobs and events after their retention time. */
import type { DeliveryState } from '../../catalog/records/events/event-document.ts'
import type { Removal } from './removal.ts'

/** The failed rows of an import are some hundred kilobytes at most. */
const IMPORTS_BATCH = 20
const JOBS_BATCH = 500

export async function removeImports(removal: Removal): Promise<void> {
  const { catalog, beforeMs, signal, removeBatch } = removal
  const filter = { kind: 'progress', state: 'done', changed: { $lt: new Date(beforeMs) } } as const
  while (!signal.aborted) {
    const found = await catalog.imports.find(filter).limit(IMPORTS_BATCH).toArray()
    if (found.length === 0) return
    const ids = found.map(({ _id }) => _id)
    await removeBatch(async (session) => {
      for (const id of ids) {
        // Ids of failed rows are the id of the import, a slash and a suffix.
        const rows = { kind: 'failures', _id: { $gte: `${id}/`, $lt: `${id}0` } } as const
        await catalog.imports.deleteMany(rows, { session })
      }
      const { deletedCount } = await catalog.imports.deleteMany({ _id: { $in: ids } }, { session })
      return deletedCount
    })
  }
}

export async function removeJobs(removal: Removal): Promise<void> {
  const { catalog, beforeMs, signal, removeBatch } = removal
  const filter = { state: 'done', ended: { $lt: new Date(beforeMs) } } as const
  while (!signal.aborted) {
    const found = await catalog.jobs
      .find(filter, { projection: { _id: 1 } })
      .limit(JOBS_BATCH)
      .toArray()
    if (found.length === 0) return
    const ids = found.map(({ _id }) => _id)
    await removeBatch(async (session) => {
      const { deletedCount } = await catalog.jobs.deleteMany({ _id: { $in: ids } }, { session })
      return deletedCount
    })
  }
}

const EVENTS_BATCH = 500
const ENDED: readonly DeliveryState[] = ['delivered', 'dead', 'unaddressed']

/** Pending events are never removed. */
export async function removeEvents(removal: Removal): Promise<void> {
  const { catalog, beforeMs, signal, removeBatch } = removal
  const before = { $lt: new Date(beforeMs) }
  for (const state of ENDED) {
    const filter = { 'delivery.state': state, creation_time: before }
    while (!signal.aborted) {
      const found = await catalog.events
        .find(filter, { projection: { _id: 1 } })
        .limit(EVENTS_BATCH)
        .toArray()
      if (found.length === 0) break
      const ids = found.map(({ _id }) => _id)
      await removeBatch(async (session) => {
        // One may have been made pending again.
        const { deletedCount } = await catalog.events.deleteMany(
          { ...filter, _id: { $in: ids } },
          { session },
        )
        return deletedCount
      })
    }
  }
}
