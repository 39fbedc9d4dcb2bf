/**
 * Writes that a transaction sends before its commit, few commands for many operations: one per
 * collection for new documents, and one for changed ones.
 */
import type { ClientSession, Document, Filter, UpdateFilter } from 'mongodb'
import type { Collection, Collections } from '../collections.ts'

type Name = keyof Collections

/** A document with its `_id`. */
export type StoredDocument = Document & { readonly _id: unknown }

interface Update {
  readonly filter: object
  readonly change: object
  /** The error if no document matches. */
  unmatched(): Error
}

interface Writes {
  readonly added: Document[]
  /** New and replaced documents by `_id`, as they are at the end. */
  readonly put: Map<string, { readonly document: StoredDocument; readonly isNew: boolean }>
  readonly updates: Update[]
  /** Documents by their stamps. */
  readonly stamped: Map<string, StampedDocument>
}

/** A document of a collection in which stamps are unique. */
export type StampedDocument = object & { readonly stamp: string }

export class PendingWrites {
  readonly #byCollection = new Map<Name, Writes>()

  /** Documents that are not changed by the same transaction. */
  add(collection: Name, documents: readonly Document[]): void {
    this.#of(collection).added.push(...documents)
  }

  /** Inserts or replaces a document; of several with the same `_id` the last one is written. */
  put(collection: Name, document: StoredDocument, isNew: boolean): void {
    const { put } = this.#of(collection)
    const key = String(document._id)
    put.set(key, { document, isNew: put.get(key)?.isNew ?? isNew })
  }

  /** Changes a document that others may change, too; without a match the transaction fails. */
  update(collection: Name, update: Update): void {
    this.#of(collection).updates.push(update)
  }

  /** Inserts documents unless one with their stamp is stored, which stays as it is. */
  addOnce(collection: Name, documents: readonly StampedDocument[]): void {
    if (documents.length === 0) return
    const { stamped } = this.#of(collection)
    for (const document of documents) {
      if (!stamped.has(document.stamp)) stamped.set(document.stamp, document)
    }
  }

  /** Adds later writes. */
  append(later: PendingWrites): void {
    for (const [collection, { added, put, updates, stamped }] of later.#byCollection) {
      this.add(collection, added)
      for (const { document, isNew } of put.values()) this.put(collection, document, isNew)
      for (const update of updates) this.update(collection, update)
      this.addOnce(collection, [...stamped.values()])
    }
  }

  /** Sends the writes; of several updates without a match the error is a general one. */
  async send(collections: Collections, session: ClientSession): Promise<void> {
    for (const [name, writes] of this.#byCollection) {
      const collection = collections[name] as unknown as Collection
      const all = [...writes.put.values()]
      const added = [...writes.added, ...documentsOf(all, true)]
      if (added.length > 0) {
        await collection.insertMany(added, { session })
      }
      const replaced = documentsOf(all, false).map((document) => {
        const { _id, ...replacement } = document
        return { replaceOne: { filter: { _id } as Filter<Document>, replacement } }
      })
      if (replaced.length > 0) {
        await collection.bulkWrite(replaced, { session })
      }
      await sendUpdates(writes.updates, name, collection, session)
      await sendStamped([...writes.stamped.values()], collection, session)
    }
  }

  #of(collection: Name): Writes {
    const known = this.#byCollection.get(collection)
    if (known !== undefined) return known
    const writes: Writes = { added: [], put: new Map(), updates: [], stamped: new Map() }
    this.#byCollection.set(collection, writes)
    return writes
  }
}

function documentsOf(
  all: readonly { readonly document: StoredDocument; readonly isNew: boolean }[],
  areNew: boolean,
): StoredDocument[] {
  return all.filter(({ isNew }) => isNew === areNew).map(({ document }) => document)
}

async function sendUpdates(
  updates: readonly Update[],
  name: string,
  collection: Collection,
  session: ClientSession,
): Promise<void> {
  const [first] = updates
  if (first === undefined) return
  const operations = updates.map(({ filter, change }) => ({
    updateOne: {
      filter: filter as Filter<Document>,
      update: change as UpdateFilter<Document>,
    },
  }))
  const { matchedCount } = await collection.bulkWrite(operations, { session })
  if (matchedCount === updates.length) return
  throw updates.length === 1 ? first.unmatched() : new RangeError(`${name}: an update has no match`)
}

async function sendStamped(
  documents: readonly StampedDocument[],
  collection: Collection,
  session: ClientSession,
): Promise<void> {
  if (documents.length === 0) return
  const operations = documents.map((document) => {
    const { stamp } = document
    return { updateOne: { filter: { stamp }, update: { $setOnInsert: document }, upsert: true } }
  })
  await collection.bulkWrite(operations, { session })
}
