import { transientError } from '../errors.ts'
import type { Catalog, Collection, CollectionCatalog, Index } from './catalog.ts'

/** A collection that a transaction needs does not exist yet; it must be created outside of it. */
export class MissingCollectionError extends Error {
  override readonly name = 'MissingCollectionError'
  readonly ns: string

  constructor(ns: string) {
    super(`the collection ${ns} does not exist`)
    this.ns = ns
  }
}

/**
 * The collections as one transaction uses them. Collections and marks of indexes are not part of a
 * transaction: they are written outside of it, before the answer of the command that needs them.
 */
export class TransactionCatalog implements Catalog {
  readonly #catalog: CollectionCatalog
  readonly #nextIdAtStart: number
  readonly #marks: { readonly ns: string; readonly index: Index }[] = []

  constructor(catalog: CollectionCatalog) {
    this.#catalog = catalog
    this.#nextIdAtStart = catalog.nextId
  }

  /** @throws CommandError (SnapshotUnavailable) if an index is not complete in the snapshot */
  find(ns: string): Collection | undefined {
    const collection = this.#catalog.find(ns)
    // All entries of a new collection are outside of the snapshot, or written by the transaction.
    if (!collection || collection.id >= this.#nextIdAtStart) return collection
    if (collection.indexes.every(({ id }) => id < this.#nextIdAtStart)) return collection
    throw transientError(
      'SnapshotUnavailable',
      `Unable to read from a snapshot due to pending collection catalog changes on ${ns}`,
    )
  }

  /** @throws MissingCollectionError */
  findOrCreate(ns: string): Collection {
    const collection = this.find(ns)
    if (!collection) throw new MissingCollectionError(ns)
    return collection
  }

  markMultikey(ns: string, index: Index): void {
    this.#marks.push({ ns, index })
  }

  get hasMarks(): boolean {
    return this.#marks.length > 0
  }

  /** Writes the marks, inside a write of the storage. */
  writeMarks(): void {
    for (const { ns, index } of this.#marks) {
      const current = this.#catalog.find(ns)?.indexes.find(({ id }) => id === index.id)
      if (current && !current.multikey) this.#catalog.markMultikey(ns, current)
    }
  }

  clearMarks(): void {
    this.#marks.length = 0
  }
}
