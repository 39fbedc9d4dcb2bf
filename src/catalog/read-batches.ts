/** Reads the results of a cursor in batches. */

/** As `ReadLimits` of the catalogue. */
interface Limits {
  readonly maxTimeMS: number
  readonly signal: AbortSignal
}

/** As `Catalog.read`. */
type Read = <T>(
  what: string,
  operation: (limits: Limits) => Promise<T>,
  options: { signal?: AbortSignal | undefined; remainingMs: number },
) => Promise<T>

/** As `Catalog.readBatches`. */
type ReadBatches = <T>(
  what: string,
  open: (limits: Limits) => BatchCursor<T>,
  options: BatchReadOptions,
) => AsyncGenerator<T[]>

/** The part of a cursor of the driver that is used. */
export interface BatchCursor<T> {
  hasNext(): Promise<boolean>
  readBufferedDocuments(): T[]
  close(): Promise<void>
}

export interface BatchReadOptions {
  /** Cancels the read, also on the server. */
  signal?: AbortSignal | undefined
  /** Limit on the work of the server for all batches; at most `readTimeoutMs`. */
  limitMs: number
}

export function batchReader(read: Read): ReadBatches {
  return async function* readBatches<T>(
    what: string,
    open: (limits: Limits) => BatchCursor<T>,
    { signal: caller, limitMs }: BatchReadOptions,
  ): AsyncGenerator<T[]> {
    const ended = new AbortController()
    const signal = caller ? AbortSignal.any([caller, ended.signal]) : ended.signal
    let cursor: BatchCursor<T> | undefined
    const next = () =>
      read(
        what,
        async ({ maxTimeMS }) => {
          cursor ??= open({ maxTimeMS, signal })
          return (await cursor.hasNext()) ? cursor.readBufferedDocuments() : []
        },
        { signal: caller, remainingMs: limitMs },
      )
    try {
      for (let batch = await next(); batch.length > 0; batch = await next()) yield batch
    } catch (error) {
      // The operation may still be running.
      ended.abort()
      throw error
    } finally {
      await cursor?.close().catch(() => undefined)
    }
  }
}
