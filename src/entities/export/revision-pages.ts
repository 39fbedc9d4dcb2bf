/**
 * The current revision of each entity, selected as in `uniqueget`, in the order of the keys. Each
 * page starts after the last key of the page before, so slow readers do not keep a cursor open.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Fields } from '../../domain/fields.ts'
import { currentRevisionsByKey, stateAt } from '../actions/current-revision.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { NOT_DELETED, readsOf } from '../revisions.ts'

export interface CurrentRevisionsOptions {
  definition: CollectionDefinition
  filter: Fields
  states: readonly number[]
  nowMs: number
  /** Aborted when the client disconnects. */
  signal?: AbortSignal | undefined
}

const PAGE_MIN = 500
/**
 * Pages grow up to this size, because a store without a suitable index scans everything for each
 * page.
 */
const PAGE_MAX = 8000
/** Limit on the revisions of one entity, which have to fit on one page. */
const REVISIONS_MAX = 100_000

/** Pages of documents, never empty. Rejects with `CatalogUnavailableError`. */
export async function* currentRevisionPages(
  catalog: Catalog,
  options: CurrentRevisionsOptions,
): AsyncGenerator<RawDocument[]> {
  const { keyField } = options.definition
  let last: unknown
  let size = PAGE_MIN
  for (;;) {
    const found = await readPage(catalog, options, last, size)
    const isEnd = found.length < size
    // The next page may have further revisions of the last key.
    const lastKey = isEnd ? undefined : found.at(-1)?.[keyField]
    const whole = found.filter((document) => isEnd || document[keyField] !== lastKey)
    if (!isEnd && whole.length === 0 && size < REVISIONS_MAX) {
      size *= 2
      continue
    }
    const chosen = currentRevisionsIn(whole.length === 0 ? found : whole, options)
    if (chosen.length > 0) yield chosen
    if (isEnd) return
    last = (whole.at(-1) ?? found.at(-1))?.[keyField]
    size = Math.min(size * 2, PAGE_MAX)
  }
}

function readPage(
  catalog: Catalog,
  { definition, filter, signal }: CurrentRevisionsOptions,
  last: unknown,
  size: number,
): Promise<RawDocument[]> {
  const { keyField, fixed } = definition
  const conditions = [filter, NOT_DELETED].filter((part) => Object.keys(part).length > 0)
  const afterLast = last === undefined ? [] : [{ [keyField]: { $gt: last } }]
  return readsOf(catalog, definition)
    .find({ ...fixed, $and: [...conditions, ...afterLast] } as object, { signal })
    .sort({ [keyField]: 1, from: 1 })
    .limit(size)
    .toArray()
}

function currentRevisionsIn(
  documents: readonly RawDocument[],
  { definition: { keyField }, states, nowMs }: CurrentRevisionsOptions,
): RawDocument[] {
  const best = currentRevisionsByKey(documents, keyField, nowMs)
  return [...best.values()].filter((document) => states.includes(stateAt(document, nowMs)))
}
