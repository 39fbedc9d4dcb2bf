/**
 * Writes revisions such that every feed notices them: take numbers, write, take another number (see
 * revisions.ts).
 */
import type { ClientSession, Collection, Document } from 'mongodb'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import type { EntityCollection } from '../entities/entity-table.ts'
import { CatalogUnavailableError, DuplicateEntityError } from '../errors.ts'
import type { RevisionWrite } from './lock-document.ts'
import { bump, isDuplicate, LATE_WRITES_MAX } from './revisions.ts'

/** The stored document; false if there was no document to replace. */
export type StoredRevision = RawDocument | false

/** Being overtaken this often is not normal load. */
const ANNOUNCEMENTS_MAX = 16

/** Work that runs concurrently with the two phases of a write. */
export interface WriteHooks {
  /** While the first numbers are taken. The write waits for it, and is skipped if it fails. */
  before?(): Promise<void>
  /** While the second number is taken. */
  after?(stored: readonly StoredRevision[]): Promise<void>
}

/** Maximum number of steps per call: with more, feeds would miss changes (LATE_WRITES_MAX). */
export const STEPS_MAX = 100

/**
 * Writes revisions of one collection: atomically if the server supports transactions, otherwise one
 * by one. Returns the stored documents. Rejects with `DuplicateEntityError` or
 * `CatalogUnavailableError`; without transactions, the steps before the failed one are applied
 * then.
 */
export async function storeSteps(
  catalog: Catalog,
  collection: EntityCollection,
  steps: readonly RevisionWrite[],
  beside: WriteHooks = {},
): Promise<StoredRevision[]> {
  const [last] = await settleBoth(bump(catalog, collection, steps.length), beside.before?.())
  const numbered = steps.map((step, index) => ({
    ...step,
    document: { ...step.document, rev: last - steps.length + 1 + index },
  }))
  let stored: StoredRevision[]
  try {
    stored = await writeAll(catalog, collection, numbered)
  } catch (error) {
    // The write may have been applied without an answer. If this fails, too, the repeated read of
    // the feeds finds it.
    await bump(catalog, collection).catch(() => {})
    throw error
  }
  const [announced] = await settleBoth(
    announce(catalog, collection, stored),
    beside.after?.(stored),
  )
  return announced
}

/** Waits for both; rejects with the error of the first argument that failed. */
async function settleBoth<T, U>(one: Promise<T>, other: U | Promise<U>): Promise<[T, U]> {
  await Promise.allSettled([one, other])
  return [await one, await other]
}

function writeAll(
  catalog: Catalog,
  collection: EntityCollection,
  steps: readonly RevisionWrite[],
): Promise<StoredRevision[]> {
  const [first] = steps
  if (steps.length === 1 && first !== undefined) {
    return catalog
      .run(`write into ${collection}`, () => write(catalog, collection, first))
      .then((one) => [one])
  }
  return catalog.transaction(`write into ${collection}`, async (session) => {
    const inserts = steps.filter(({ mode }) => mode === 'insert')
    if (inserts.length === steps.length && session === undefined) {
      return insertMany(catalog, collection, inserts)
    }
    const stored: StoredRevision[] = []
    for (const step of steps) stored.push(await write(catalog, collection, step, session))
    return stored
  })
}

async function insertMany(
  catalog: Catalog,
  collection: EntityCollection,
  steps: readonly RevisionWrite[],
): Promise<StoredRevision[]> {
  const documents = steps.map(({ document }) => document)
  await mapDuplicateErrors(collection, () =>
    documentsOf(catalog, collection).insertMany(documents, { ordered: true }),
  )
  return documents
}

async function write(
  catalog: Catalog,
  collection: EntityCollection,
  step: RevisionWrite,
  session?: ClientSession,
): Promise<StoredRevision> {
  const { document } = step
  const options = session === undefined ? {} : { session }
  const documents = documentsOf(catalog, collection)
  if (step.mode === 'insert') {
    await mapDuplicateErrors(collection, () => documents.insertOne(document, options))
    return document
  }
  const { matchedCount } = await mapDuplicateErrors(collection, () =>
    documents.replaceOne({ _id: document._id, ...revFilter(step) }, document, options),
  )
  return matchedCount === 1 && document
}

function revFilter({ expectedRev }: Extract<RevisionWrite, { mode: 'replace' }>): Document {
  if (expectedRev === null) return {}
  return { rev: expectedRev === 0 ? { $in: [0, null] } : expectedRev }
}

/** Takes the second number, and renumbers documents as long as feeds may miss them. */
async function announce(
  catalog: Catalog,
  collection: EntityCollection,
  stored: readonly StoredRevision[],
): Promise<StoredRevision[]> {
  const result = [...stored]
  for (let attempt = 0; attempt < ANNOUNCEMENTS_MAX; attempt += 1) {
    const number = await bump(catalog, collection)
    const index = result.findIndex((one) => one !== false && number - one.rev > LATE_WRITES_MAX)
    const document = result[index]
    if (document === undefined || document === false) return result
    const filter = { _id: document._id, rev: document.rev }
    const { matchedCount } = await catalog.run(`announce in ${collection}`, () =>
      documentsOf(catalog, collection).updateOne(filter, { $set: { rev: number } }),
    )
    // If the document was written again meanwhile, the number of that write counts.
    result[index] = { ...document, rev: matchedCount === 0 ? Number.POSITIVE_INFINITY : number }
  }
  throw new CatalogUnavailableError(
    `${collection}: too many concurrent writers to announce a change`,
  )
}

async function mapDuplicateErrors<T>(
  collection: EntityCollection,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    const fields = Object.keys((error['keyPattern'] as Document | undefined) ?? {})
    throw new DuplicateEntityError(
      collection,
      fields.filter((field) => field !== 'deleted_at'),
    )
  }
}

function documentsOf(catalog: Catalog, collection: EntityCollection): Collection<Document> {
  return catalog[collection] as unknown as Collection<Document>
}
