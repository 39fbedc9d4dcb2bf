import { randomBytes } from 'node:crypto'
import type { Collection, Db, Document, ObjectId } from 'mongodb'
import { expect } from 'vitest'

export type Database = () => Db

/** Documents with any type of `_id`. */
export type Any = Document & { _id?: string | number | number[] | ObjectId }

/** A collection that no other test uses. */
export function fresh(db: Database): Collection<Any> {
  return db().collection<Any>(`c_${randomBytes(6).toString('hex')}`)
}

/** A collection with these documents, in this order. */
export async function filled(db: Database, docs: readonly Any[]): Promise<Collection<Any>> {
  const collection = fresh(db)
  if (docs.length > 0) await collection.insertMany(docs.map((doc) => ({ ...doc })))
  return collection
}

/** Asserts that the operation fails with this error code of the server. */
export async function refused(code: number, work: Promise<unknown>): Promise<void> {
  await expect(work).rejects.toMatchObject({ code })
}

/** Identifiers of the documents that match a filter, in order. */
export async function idsOf(collection: Collection<Any>, filter: Document): Promise<unknown[]> {
  const found = await collection.find(filter).sort({ _id: 1 }).toArray()
  return found.map(({ _id }) => _id)
}
