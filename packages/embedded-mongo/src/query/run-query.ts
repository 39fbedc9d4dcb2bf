import type { Collection } from '../store/catalog.ts'
import { type Plan, planQuery } from '../store/plan.ts'
import type { Records, Row } from '../store/records.ts'
import type { Doc } from '../values/document.ts'
import type { FieldNames } from '../values/raw-fields.ts'
import { compileFilter } from './matcher.ts'
import { Sorter, type SortField, sortKey } from './sort.ts'

export type Query = {
  readonly filter: Doc
  readonly sort?: readonly SortField[]
  readonly skip?: number
  /** No limit if undefined. */
  readonly limit?: number | undefined
  /** The only fields of the documents that are read; all if undefined. */
  readonly fields?: FieldNames | undefined
}

/**
 * Results of a query, read lazily. Null is not a result: it marks a point where the work may be
 * interrupted.
 */
export type Results<T> = Generator<T | null>

/** Keys and documents that a query has read so far; counted while its results are consumed. */
export type Examined = { keys: number; docs: number }

/**
 * The documents that match a query, read in chunks while they are consumed: the collection may
 * change meanwhile, and later chunks contain its later state.
 * @throws CommandError immediately for an invalid filter
 */
export function runQuery(
  records: Records,
  collection: Collection | undefined,
  query: Query,
  examined: Examined = { keys: 0, docs: 0 },
): Results<Row> {
  const { filter, sort = [], skip = 0, limit = Number.POSITIVE_INFINITY, fields } = query
  const matches = compileFilter(filter)
  if (!collection) return none()
  const plan = planQuery(collection, filter, sort)
  const rows = candidates(records, collection, plan, examined)
  const found = matching(rows, matches, fields)
  const isSorted = sort.length === 0 || (plan.kind === 'index' && plan.sorted)
  const ordered = isSorted ? found : sorted(found, sort, skip + limit)
  return skip === 0 && limit === Number.POSITIVE_INFINITY
    ? ordered
    : skipAndLimit(ordered, skip, limit)
}

/** Collects all results without interruption, for use inside a write. */
export function collectAll<T>(results: Results<T>): T[] {
  const collected: T[] = []
  for (const result of results) if (result !== null) collected.push(result)
  return collected
}

function* none(): Results<never> {}

function* candidates(
  records: Records,
  collection: Collection,
  plan: Plan,
  examined: Examined,
): Results<Row> {
  if (plan.kind === 'scan') {
    for (const row of records.scan(collection)) {
      if (row !== null) examined.docs += 1
      yield row
    }
    return
  }
  // A document may have several entries in an index and be found through several indexes.
  const seen = plan.kind === 'union' || plan.index.multikey ? new Set<number>() : undefined
  for (const record of recordsOf(records, plan)) {
    if (record === null) {
      yield null
      continue
    }
    examined.keys += 1
    if (seen?.has(record)) continue
    seen?.add(record)
    const row = records.get(collection, record)
    examined.docs += 1
    if (row) yield row
  }
}

function* recordsOf(records: Records, plan: Plan): Results<number> {
  if (plan.kind === 'union') {
    for (const each of plan.plans) yield* recordsOf(records, each)
  } else if (plan.kind === 'index') {
    const { ranges, reverse } = plan
    for (const range of reverse ? [...ranges].reverse() : ranges) {
      yield* records.scanIndex(range, reverse)
    }
  }
}

function* matching(
  rows: Results<Row>,
  matches: (doc: Doc) => boolean,
  fields: FieldNames | undefined,
): Results<Row> {
  for (const row of rows) {
    if (row !== null && fields) row.decodeOnly(fields)
    if (row === null || matches(row.doc)) yield row
  }
}

function* sorted(rows: Results<Row>, sort: readonly SortField[], limit: number): Results<Row> {
  const sorter = new Sorter<Row>(limit)
  for (const row of rows) {
    if (row === null) yield null
    else sorter.add(sortKey(row.doc, sort), row.withoutDoc(), row.bytes.length)
  }
  yield* sorter.take()
}

/** Stops the source after the last result. */
export function* skipAndLimit<T>(results: Results<T>, skip: number, limit: number): Results<T> {
  let skipped = 0
  let yielded = 0
  if (limit === 0) return
  for (const result of results) {
    if (result === null) yield null
    else if (skipped < skip) skipped += 1
    else {
      yielded += 1
      yield result
      if (yielded === limit) return
    }
  }
}
