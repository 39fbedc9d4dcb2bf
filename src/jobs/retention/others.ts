/** Removes finished imports, jobs, events and usage records after their retention time. */
import type { Collection, Filter } from '../../catalog/collections.ts'
import type { DeliveryState } from '../../catalog/records/events/event-document.ts'
import type { Removal } from './removal.ts'

/** The failed rows of an import are some hundred kilobytes at most. */
const IMPORTS_BATCH = 20
const BATCH = 500

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
  const { catalog, beforeMs } = removal
  await removeFound(removal, catalog.jobs, { state: 'done', ended: { $lt: new Date(beforeMs) } })
}

const ENDED: readonly DeliveryState[] = ['delivered', 'dead', 'unaddressed']

/** Pending events are never removed. */
export async function removeEvents(removal: Removal): Promise<void> {
  const { catalog, beforeMs } = removal
  const before = { $lt: new Date(beforeMs) }
  for (const state of ENDED) {
    const filter = { 'delivery.state': state, creation_time: before }
    await removeFound(removal, catalog.events, filter)
  }
}

/** Rejected usage records that still wait are never removed. */
export async function removeIntake(removal: Removal): Promise<void> {
  const { catalog, beforeMs } = removal
  const before = { $lt: new Date(beforeMs) }
  for (const state of ['corrected', 'dropped'] as const) {
    await removeFound(removal, catalog.intakerejected, { state, updated: before })
  }
}

async function removeFound<Document extends object>(
  { signal, removeBatch }: Removal,
  collection: Collection<Document>,
  filter: Filter<Document>,
): Promise<void> {
  while (!signal.aborted) {
    const found = await collection
      .find(filter, { projection: { _id: 1 } })
      .limit(BATCH)
      .toArray()
    if (found.length === 0) return
    const ids = found.map(({ _id }) => _id)
    await removeBatch(async (session) => {
      // One may have changed since, such as an event that waits again.
      const those = { ...filter, _id: { $in: ids } } as unknown as Filter<Document>
      const { deletedCount } = await collection.deleteMany(those, { session })
      return deletedCount
    })
  }
}
