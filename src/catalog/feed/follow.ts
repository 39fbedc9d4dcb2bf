/** Reading what changed in one collection since the last look. */
import { BSON, type Collection, type Document, type Filter, type ObjectId } from 'mongodb'
import type { Clock } from '../../runtime/clock.ts'
import type { ChargingCollection } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import { LATE_WRITES_MAX } from '../revisions/revisions.ts'
import { createPacer } from './pacer.ts'

/** Documents per read: each page is one operation with its own time limit. */
const PAGE_DOCUMENTS = 200

/**
 * A writer that is killed between writing and taking its second number leaves a change that no
 * number tells of. So after each change the collection is read once more, this much later.
 */
const RECHECK_MS = 5000

/** What to do with a collection at this revision number. */
export type FollowStep = 'nothing' | 'reload' | 'changes'

/** Remembers how far a collection was processed. */
export interface Cursor {
  /** What a look at this number asks for. */
  step(number: number): FollowStep
  /** The revision numbers above which documents may be new. */
  readAbove(): number
  /** Everything up to this number was processed. */
  advance(number: number): void
}

export function createCursor(clock: Clock): Cursor {
  let processed: number | null = null
  let repairAtMs = Number.POSITIVE_INFINITY
  return {
    step(number) {
      // A number that fell: another database, or an older state of this one.
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

/** The documents that were written with a number above this one, page by page. */
export async function* readChanges(
  catalog: Catalog,
  collection: ChargingCollection,
  above: number,
): AsyncGenerator<RawDocument[]> {
  let last = above
  while (true) {
    // Every write has a number of its own, so a page never ends between two equal ones.
    const page = await readPage(catalog, collection, { rev: { $gt: last } }, { rev: 1 })
    if (page.length > 0) yield page
    if (page.length < PAGE_DOCUMENTS) return
    last = page.at(-1)?.rev ?? last
  }
}

/** Documents are decoded here and not by the driver, which would do a whole page in one piece. */
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
