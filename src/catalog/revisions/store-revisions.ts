/** Writes revisions within a transaction, with the numbers by which feeds notice them. */
import { type ClientSession, type Document, MongoBulkWriteError } from 'mongodb'
import type { Collection } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import type { EntityCollection } from '../entities/entity-table.ts'
import { DuplicateEntityError, EntityConflictError } from '../errors.ts'
import { isDuplicate } from '../transactions/duplicate.ts'
import { takeRevs } from '../transactions/state.ts'

/** One write of a revision, as a whole. Its document must be checked (check.ts). */
export interface RevisionWrite {
  mode: 'insert' | 'replace'
  document: RawDocument
}

/**
 * Returns the stored documents, in the order of the steps. Rejects with `DuplicateEntityError`,
 * `EntityConflictError` if a revision to replace does not exist, or with `CatalogUnavailableError`.
 */
export async function writeRevisions(
  catalog: Catalog,
  session: ClientSession,
  collection: EntityCollection,
  steps: readonly RevisionWrite[],
): Promise<RawDocument[]> {
  if (steps.length === 0) return []
  const first = takeRevs(session, collection, steps.length)
  const numbered = steps.map(({ mode, document }, index) => {
    return { mode, document: { ...document, rev: first + index } }
  })
  const documents = catalog[collection] as unknown as Collection<Document>
  const replaced = await mapDuplicateErrors(collection, () => write(documents, session, numbered))
  if (replaced !== numbered.filter(({ mode }) => mode === 'replace').length) {
    throw new EntityConflictError(`${collection}: a revision to replace does not exist any more`)
  }
  return numbered.map(({ document }) => document)
}

/** Returns the number of replaced documents. */
async function write(
  documents: Collection<Document>,
  session: ClientSession,
  steps: readonly RevisionWrite[],
): Promise<number> {
  const [only] = steps
  if (steps.length === 1 && only !== undefined) {
    const { mode, document } = only
    if (mode === 'replace') {
      return (await documents.replaceOne({ _id: document._id }, document, { session })).matchedCount
    }
    await documents.insertOne(document, { session })
    return 0
  }
  const operations = steps.map(({ mode, document }) =>
    mode === 'insert'
      ? { insertOne: { document } }
      : { replaceOne: { filter: { _id: document._id }, replacement: document } },
  )
  return (await documents.bulkWrite(operations, { session })).matchedCount
}

async function mapDuplicateErrors<T>(
  collection: EntityCollection,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    const fields = Object.keys(keyPatternOf(error) ?? {})
    throw new DuplicateEntityError(
      collection,
      fields.filter((field) => field !== 'deleted_at'),
    )
  }
}

function keyPatternOf(error: Error): Document | undefined {
  const [first] = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : []
  const failure = (first?.err ?? error) as { keyPattern?: Document }
  return failure.keyPattern
}
