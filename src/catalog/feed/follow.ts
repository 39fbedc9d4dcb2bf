/** Reads the changes of one collection since the last poll. */
import { BSON, type Document, type Filter, type ObjectId } from 'mongodb'
import type { Collection } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import type { ChargingCollection } from '../entities/entity-table.ts'
import { createPacer } from './pacer.ts'

/** Documents per read: each page is one operation with its own time limit. */
const PAGE_DOCUMENTS = 200

/** How to process a collection at a given revision number. */
export type FollowStep = 'nothing' | 'reload' | 'changes'

/** Tracks up to which number a collection is processed. Numbers become visible in their order. */
export interface Cursor {
  /** The action required at this revision number. */
  step(number: number): FollowStep
  /** Everything up to this number is processed; 0 before the first `advance`. */
  processed(): number
  advance(number: number): void
}

export function createCursor(): Cursor {
  let processed: number | null = null
  return {
    step(number) {
      // The number decreased: another database, or an older state of this one.
      if (processed === null || number < processed) return 'reload'
      return number > processed ? 'changes' : 'nothing'
    },
    processed: () => processed ?? 0,
    advance(number) {
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

/**
 * The documents whose newest write has a number above `above` and up to `upTo`, page by page. Those
 * written again meanwhile are left to the next poll.
 */
export async function* readChanges(
  catalog: Catalog,
  collection: ChargingCollection,
  above: number,
  upTo: number,
): AsyncGenerator<RawDocument[]> {
  let last = above
  while (true) {
    // Write numbers are unique, so a page never ends between two documents with the same number.
    const filter = { rev: { $gt: last, $lte: upTo } }
    const page = await readPage(catalog, collection, filter, { rev: 1 })
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
  const encoded = (await documents
    .find(filter, { raw: true })
    .sort(sort)
    .limit(PAGE_DOCUMENTS)
    .toArray()) as unknown as Uint8Array[]
  const pacer = createPacer()
  const page: RawDocument[] = []
  for (const bytes of encoded) {
    page.push(BSON.deserialize(bytes) as RawDocument)
    if (pacer.isSliceOver()) await pacer.pause()
  }
  return page
}
