/** Reads the changes of one collection since the last poll. */
import { BSON, type Collection, type Document, type Filter, type ObjectId } from 'mongodb'
import type { Clock } from '../../runtime/clock.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import type { ChargingCollection } from '../entities/entity-table.ts'
import { LATE_WRITES_MAX } from '../revisions/revisions.ts'
import { createPacer } from './pacer.ts'

/** Documents per read: each page is one operation with its own time limit. */
const PAGE_DOCUMENTS = 200

/**
 * If a writer dies after the write, before taking its second number, no number announces the
 * change. Therefore the collection is read once more this long after each change.
 */
const RECHECK_MS = 5000

/** How to process a collection at a given revision number. */
export type FollowStep = 'nothing' | 'reload' | 'changes'

/** Tracks up to which number a collection is processed. */
export interface Cursor {
  /** The action required at this revision number. */
  step(number: number): FollowStep
  /** The revision number above which documents may be new. */
  readAbove(): number
  /** Everything up to this number is processed. */
  advance(number: number): void
}

export function createCursor(clock: Clock): Cursor {
  let processed: number | null = null
  let repairAtMs = Number.POSITIVE_INFINITY
  return {
    step(number) {
      // The number decreased: another database, or an older state of this one.
      if (processed === null || number < processed) return 'reload'
      return number > processed || clock.nowMs() >= repairAtMs ? 'changes' : 'nothing'
    },
    readAbove: () => (processed ?? 0) - LATE_WRITES_MAX,
    advance(number) {
      repairAtMs = number === processed ? Number.POSITIVE_INFINITY : clock.nowMs() + RECHECK_MS
      processed = number
    },
  }
}

/** All documents of a collection, page by page in the order of their ids. */
export async function* readAll(
  catalog: Catalog,
  collection: ChargingCollection,
): AsyncGenerator<RawDocument[]> {
  let after: ObjectId | undefined
  while (true) {
    const filter: Filter<Document> = after === undefined ? {} : { _id: { $gt: after } }
    const page = await readPage(catalog, collection, filter, { _id: 1 })
    if (page.length > 0) yield page
    if (page.length < PAGE_DOCUMENTS) return
    after = page.at(-1)?._id
  }
}

/** The documents written with a higher number, page by page. */
export async function* readChanges(
  catalog: Catalog,
  collection: ChargingCollection,
  above: number,
): AsyncGenerator<RawDocument[]> {
  let last = above
  while (true) {
    // Write numbers are unique, so a page never ends between two documents with the same number.
    const page = await readPage(catalog, collection, { rev: { $gt: last } }, { rev: 1 })
    if (page.length > 0) yield page
    if (page.length < PAGE_DOCUMENTS) return
    last = page.at(-1)?.rev ?? last
  }
}

/** Documents are decoded here in slices; the driver would decode the whole page without a pause. */
async function readPage(
  catalog: Catalog,
  collection: ChargingCollection,
  filter: Filter<Document>,
  sort: Record<string, 1>,
): Promise<RawDocument[]> {
  const documents = catalog[collection] as unknown as Collection<Document>
  const encoded = (await catalog.run(`read ${collection}`, () =>
    documents.find(filter, { raw: true }).sort(sort).limit(PAGE_DOCUMENTS).toArray(),
  )) as unknown as Uint8Array[]
  const pacer = createPacer()
  const page: RawDocument[] = []
  for (const bytes of encoded) {
    page.push(BSON.deserialize(bytes) as RawDocument)
    if (pacer.isSliceOver()) await pacer.pause()
  }
  return page
}
