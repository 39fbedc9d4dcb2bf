import { docsOf, recordOf } from './index-keys.ts'
import type { Storage } from './storage.ts'

/** The next record number of each collection, for all transactions: no number is used twice. */
export class RecordNumbers {
  /** Number of index entries and documents that queries have read since the start. */
  readonly examined = { keys: 0, documents: 0 }
  readonly #storage: Storage
  readonly #next = new Map<number, number>()

  constructor(storage: Storage) {
    this.#storage = storage
  }

  take(collectionId: number): number {
    let next = this.#next.get(collectionId)
    if (next === undefined) {
      const last = this.#storage.lastOf(this.#storage.docs, docsOf(collectionId))
      next = last ? recordOf(last.key) + 1 : 1
    }
    this.#next.set(collectionId, next + 1)
    return next
  }
}
