import type { Collection, CollectionCatalog, Index, IndexSpec } from './catalog.ts'
import { docsOf, entriesBelow } from './index-keys.ts'
import type { Records } from './records.ts'
import type { Storage } from './storage.ts'

const NOTHING = Buffer.alloc(0)

/**
 * Changes of collections and indexes, inside a write of the storage. They wait for transactions
 * that have written to the collection, and are visible to the others at once.
 */
export class Schema {
  readonly catalog: CollectionCatalog
  readonly #storage: Storage
  readonly #records: Records

  constructor(storage: Storage, catalog: CollectionCatalog, records: Records) {
    this.#storage = storage
    this.catalog = catalog
    this.#records = records
  }

  /** As `Storage.write`. */
  write<T>(job: () => T, waitMs: number | undefined): Promise<T> {
    return this.#storage.write(job, waitMs)
  }

  drop(collection: Collection): void {
    this.#checkUnlocked(collection)
    for (const index of collection.indexes) this.#clearEntries(index)
    this.#storage.clear(this.#storage.docs, docsOf(collection.id))
    this.catalog.remove(collection.ns)
  }

  /** @throws CommandError if existing documents violate the index; then nothing is changed */
  createIndex(ns: string, spec: IndexSpec): void {
    this.#checkUnlocked(this.catalog.findOrCreate(ns))
    this.#storage.undoable(() => {
      const index = this.catalog.addIndex(ns, spec)
      const collection = this.catalog.findOrCreate(ns)
      for (const row of this.#records.scan(collection)) {
        if (row) this.#records.addToIndex(collection, index, row)
      }
    })
  }

  dropIndex(ns: string, index: Index): void {
    this.#checkUnlocked(this.catalog.findOrCreate(ns))
    this.#clearEntries(index)
    this.catalog.removeIndex(ns, index)
  }

  #clearEntries(index: Index): void {
    this.#storage.clear(this.#storage.entries, entriesBelow(index, NOTHING))
  }

  #checkUnlocked({ id }: Collection): void {
    this.#storage.locks.checkRange(docsOf(id))
  }
}
