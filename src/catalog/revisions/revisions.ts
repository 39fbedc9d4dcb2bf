/**
 * The revision number of a collection: how a feed learns, from one small document, that something
 * changed and what to read again. Each write is: take a number, write the document with it, take
 * another number. The first makes a change in progress visible, the second the finished one.
 */
import { MongoServerError } from 'mongodb'
import type { EntityCollection } from '../collections.ts'
import type { Catalog } from '../connection.ts'

/**
 * A writer may be overtaken: it takes 7, others take 8 to 20 and finish, a feed has seen 20, and
 * then the document with 7 arrives. So feeds read this far back behind the last number that they
 * have processed, and a writer that was overtaken by more gives its document a new number
 * (write.ts).
 */
export const LATE_WRITES_MAX = 128

/** What is numbered: the entities, and the stored configuration. */
export type NumberedCollection = EntityCollection | 'config'

export function counterId(collection: NumberedCollection): string {
  return `feed:${collection}`
}

/** Takes the next number of a collection, or so many of them: the last one is given. */
export async function bump(
  catalog: Catalog,
  collection: NumberedCollection,
  count = 1,
): Promise<number> {
  const increase = () =>
    catalog.run(`count up ${collection}`, () =>
      catalog.counters.findOneAndUpdate(
        { _id: counterId(collection) },
        { $inc: { seq: count } },
        { upsert: true, returnDocument: 'after' },
      ),
    )
  const counter = await increase().catch((error: unknown) => {
    // Two first writers: one inserted the counter, the other finds it on the second try.
    if (isDuplicate(error)) return increase()
    throw error
  })
  if (counter === null) throw new Error(`counter of ${collection} was not returned`)
  return counter.seq
}

export function isDuplicate(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === 11_000
}
