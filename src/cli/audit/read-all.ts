/** Reads of an audit that are too long for one time limit, and too large for memory. */
import type { Catalog } from '../../catalog/connection.ts'
import { repeated } from '../../catalog/patience.ts'
import type { BatchCursor } from '../../catalog/read-batches.ts'

const BATCH = 1_000

interface CursorOptions {
  readonly signal: AbortSignal
  readonly batchSize: number
}

/**
 * Adds all results of a cursor to what `begin` returns. After an outage the read is repeated as a
 * whole, and `begin` is called again: a failed cursor cannot go on. Rejects like `readBatches`.
 */
export function readAll<T, Into>(
  catalog: Catalog,
  what: string,
  open: (options: CursorOptions) => BatchCursor<T>,
  begin: () => Into,
  add: (into: Into, one: T) => void,
): Promise<Into> {
  return repeated(async () => {
    const into = begin()
    const batches = catalog.readBatches(
      what,
      // A time limit for each batch: `maxTimeMS` would be one for all.
      ({ signal }) => open({ signal, batchSize: BATCH }),
      { limitMs: Number.POSITIVE_INFINITY },
    )
    for await (const batch of batches) for (const one of batch) add(into, one)
    return into
  }, catalog.patience)
}
