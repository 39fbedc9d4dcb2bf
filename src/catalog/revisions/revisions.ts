/**
 * The revision number of a collection lets a feed detect changes by reading one small document.
 * Each write takes a number, writes the document with it, and takes another number. The first
 * number announces the write in progress, the second one its completion.
 */
import { MongoServerError } from 'mongodb'
import type { Catalog } from '../connection.ts'
import type { EntityCollection } from '../entities/entity-table.ts'

/**
 * A slow writer may be overtaken: it takes number 7, others take 8 to 20 and finish, a feed has
 * processed 20, and then the document with 7 is written. Therefore feeds read this far back from
 * the last processed number, and a writer overtaken by more gives its document a new number
 * (store-steps.ts).
 */
export const LATE_WRITES_MAX = 128

/** Collections with revision numbers: entities, and the stored configuration. */
export type NumberedCollection = EntityCollection | 'config'

export function counterId(collection: NumberedCollection): string {
  return `feed:${collection}`
}

/** Takes the next `count` numbers of a collection and returns the last one. */
export async function bump(
  catalog: Catalog,
  collection: NumberedCollection,
  count = 1,
): Promise<number> {
  const increase = () =>
    catalog.run(`increment the number of ${collection}`, () =>
      catalog.counters.findOneAndUpdate(
        { _id: counterId(collection) },
        { $inc: { seq: count } },
        { upsert: true, returnDocument: 'after' },
      ),
    )
  const counter = await increase().catch((error: unknown) => {
    // If two first writers race, one inserts the counter and the other finds it on the second
    // attempt.
    if (isDuplicate(error)) return increase()
    throw error
  })
  if (counter === null) throw new Error(`counter of ${collection} was not returned`)
  return counter.seq
}

export function isDuplicate(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === 11_000
}
