import { MongoCommandError, type OperationRefusal } from '../errors.ts'
import { collectAll, type Results, runQuery } from '../query/run-query.ts'
import type { SortField } from '../query/sort.ts'
import type { Collection } from '../store/catalog.ts'
import { type Records, Row } from '../store/records.ts'
import { asBuffer } from '../values/bson-bytes.ts'
import { type Doc, encode } from '../values/document.ts'
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
  /** OperationRefusal of the document of an upsert: another document has one of its keys. */
  readonly duplicate?: OperationRefusal
  /** The last document updated, before and after. */
  readonly before: Row | undefined
  readonly after: Row | undefined
}

/**
 * Updates the matching documents, or inserts one if none matches and `upsert` is set.
 * @throws CommandError, except for a duplicate key of an upsert; of several documents those updated
 *   before the failing one stay updated
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
    const changed = new Row(row.record, asBuffer(encode(update.apply(row.doc, nowMs))))
    const isChanged = records.replace(ns, row, changed)
    row.withoutDoc()
    if (isChanged) modified += 1
    before = row
    after = changed
  }
  if (matched > 0 || !upsert) return { matched, modified, upserted: undefined, before, after }
  const inserted = records.insert(ns, update.insert(filter, nowMs))
  const isInserted = inserted instanceof Row
  const upserted = isInserted ? inserted : undefined
  const result = { matched, modified, upserted, before, after: upserted }
  return isInserted ? result : { ...result, duplicate: inserted }
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
