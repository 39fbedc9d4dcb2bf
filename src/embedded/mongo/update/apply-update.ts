import { MongoCommandError } from '../errors.ts'
import { collectAll, type Results, runQuery } from '../query/run-query.ts'
import type { SortField } from '../query/sort.ts'
import type { Collection } from '../store/catalog.ts'
import type { Records, Row } from '../store/records.ts'
import type { Doc } from '../values/document.ts'
import type { Update } from './update.ts'

export type UpdateRequest = {
  readonly filter: Doc
  readonly update: Update
  readonly multi: boolean
  readonly upsert: boolean
  readonly nowMs: number
  /** Order that selects one of several matching documents. */
  readonly sort?: readonly SortField[]
}

export type UpdateResult = {
  readonly matched: number
  /** Number of changed documents. */
  readonly modified: number
  readonly upserted: Row | undefined
  /** The last document updated, before and after. */
  readonly before: Row | undefined
  readonly after: Row | undefined
}

/**
 * Updates the matching documents, or inserts one if none matches and `upsert` is set.
 * @throws CommandError; of several documents those updated before the failing one stay updated
 */
export function applyUpdate(records: Records, ns: string, request: UpdateRequest): UpdateResult {
  const { filter, update, multi, upsert, nowMs, sort = [] } = request
  if (multi && update.isReplacement) {
    throw new MongoCommandError(
      'FailedToParse',
      'multi update is not supported for replacement-style update',
    )
  }
  const collection = records.catalog.find(ns)
  const found = runQuery(records, collection, { filter, sort, limit: multi ? undefined : 1 })
  let matched = 0
  let modified = 0
  let before: Row | undefined
  let after: Row | undefined
  for (const row of materializeRows(records, collection, found, multi)) {
    matched += 1
    // The update changes the document of the row, so its index keys are read first.
    const keys = records.keysOf(ns, row.doc)
    const changed = records.replace(ns, row, keys, update.apply(row.doc, nowMs))
    row.withoutDoc()
    if (changed) modified += 1
    before = row
    after = changed ?? row
  }
  const isInsert = matched === 0 && upsert
  const upserted = isInsert ? records.insert(ns, update.insert(filter, nowMs)) : undefined
  return { matched, modified, upserted, before, after: upserted ?? after }
}

/**
 * The rows of a query that will be changed. All are found before the first change, so that a
 * changed row is not found again at its new index position; if there are many, only their record
 * numbers are kept meanwhile.
 */
export function* materializeRows(
  records: Records,
  collection: Collection | undefined,
  found: Results<Row>,
  many: boolean,
): Generator<Row> {
  if (!many || !collection) {
    yield* collectAll(found)
    return
  }
  const recordNumbers: number[] = []
  for (const row of found) if (row) recordNumbers.push(row.record)
  for (const record of recordNumbers) {
    const row = records.get(collection, record)
    if (row) yield row
  }
}
