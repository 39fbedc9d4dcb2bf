/**
 * Writing revisions so that every feed learns of them: take numbers, write, take another number
 * (revisions.ts says why).
 */
import type { ClientSession, Collection, Document } from 'mongodb'
import type { EntityCollection } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import { CatalogUnavailableError, DuplicateEntityError } from '../errors.ts'
import { bump, isDuplicate, LATE_WRITES_MAX } from './revisions.ts'

/**
 * One write of a revision. What is `replace`d must still have the number `expectedRev`: 0 where it
 * has none, null where any will do.
 */
export type RevisionWrite =
  | { mode: 'insert'; document: RawDocument }
  | { mode: 'replace'; document: RawDocument; expectedRev: number | null }

/** As stored; false where the step found nothing that it could replace. */
export type StoredRevision = RawDocument | false

/** A writer that is overtaken this often has lost to something that is no normal load. */
const ANNOUNCEMENTS_MAX = 16

/** What is done beside a write, so that it takes no time of its own. */
export interface WriteHooks {
  /** While the first numbers are taken: nothing is written before it is done, or if it fails. */
  before?(): Promise<void>
  /** While the second one is. */
  after?(stored: readonly StoredRevision[]): Promise<void>
}

/** Most steps that one call may have: more would be overlooked by the feeds (LATE_WRITES_MAX). */
export const STEPS_MAX = 100

/**
 * Writes revisions of one collection, one after the other, or all of them at once where the server
 * has transactions. Gives each as it is stored. Rejects with `DuplicateEntityError` or
 * `CatalogUnavailableError`; without transactions the steps before it are then done.
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
    // It may have arrived although no answer did; if this fails too, the feeds' second look finds
    // it.
    await bump(catalog, collection).catch(() => {})
    throw error
  }
  const [announced] = await settleBoth(
    announce(catalog, collection, stored),
    beside.after?.(stored),
  )
  return announced
}

/** Rejects as the first of them does that fails, when both have ended. */
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

/**
 * Takes the second number, and gives documents a new one for as long as feeds may overlook them.
 */
async function announce(
  catalog: Catalog,
  collection: EntityCollection,
  stored: readonly StoredRevision[],
): Promise<StoredRevision[]> {
  const result = [...stored]
  for (let attempt = 0; attempt < ANNOUNCEMENTS_MAX; attempt += 1) {
    const number = await bump(catalog, collection)
    const late = result.findIndex((one) => one !== false && number - one.rev > LATE_WRITES_MAX)
    const document = result[late]
    if (document === undefined || document === false) return result
    const filter = { _id: document._id, rev: document.rev }
    const { matchedCount } = await catalog.run(`announce in ${collection}`, () =>
      documentsOf(catalog, collection).updateOne(filter, { $set: { rev: number } }),
    )
    // Where somebody has written it again, their number is the one that counts.
    result[late] = { ...document, rev: matchedCount === 0 ? Number.POSITIVE_INFINITY : number }
  }
  throw new CatalogUnavailableError(`${collection}: too many others write to announce a change`)
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
