import { MongoCommandError, notImplemented } from '../errors.ts'
import { asDoc, type Doc, isDoc, type Value } from '../values/document.ts'
import { encodeKey } from '../values/key-encoding.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'
import { pathValues } from '../values/path.ts'
import { tuplesAt } from '../values/tuples.ts'
import { fieldPath } from './field-path.ts'

export type SortField = {
  readonly path: string
  readonly parts: readonly string[]
  readonly descending: boolean
}

/** @throws CommandError for directions other than 1 and -1 */
export function parseSort(spec: Value): SortField[] {
  if (spec === undefined) return []
  if (!isDoc(spec)) throw new MongoCommandError('TypeMismatch', 'a sort must be an object')
  return Object.keys(spec).map((path) => {
    const direction = spec[path]
    if (asDoc(direction)) throw notImplemented(`the sort order of '${path}' by an expression`)
    if (!isNumeric(direction)) {
      throw new MongoCommandError('Location15974', `Illegal key in $sort specification: '${path}'`)
    }
    const sign = toNumber(direction)
    if (sign !== 1 && sign !== -1) {
      throw new MongoCommandError(
        'Location15975',
        `$sort key ordering must be 1 (for ascending) or -1 (for descending): '${path}'`,
      )
    }
    return { path, parts: fieldPath(path), descending: sign === -1 }
  })
}

/**
 * Bytes that order documents as the sort requires. An array sorts by its least element, descending
 * by its greatest; a missing field sorts as null.
 * @throws CommandError if two fields lead into different arrays
 */
export function sortKey(doc: Doc, fields: readonly SortField[]): Buffer {
  const found = fields.map(({ parts }) => pathValues(doc, parts))
  if (found.filter(({ arrayPath }) => arrayPath !== undefined).length > 1) {
    return sharedKey(doc, fields)
  }
  const keys = found.map(({ values }, i) => {
    const { descending } = fields[i]!
    // Inverted bytes put the greatest value first, so the least key is used in both directions.
    return least(values.map((value) => encodeKey(value, descending)))
  })
  return keys.length === 1 && keys[0] ? keys[0] : Buffer.concat(keys)
}

/** If several fields are in the same array, the values of one element are compared together. */
function sharedKey(doc: Doc, fields: readonly SortField[]): Buffer {
  const paths = fields.map(({ parts }) => parts)
  const tuples = tuplesAt(doc, paths)
  if (!tuples) {
    throw new MongoCommandError('BadValue', 'cannot sort with keys that are parallel arrays')
  }
  return least(
    tuples.map((tuple) =>
      Buffer.concat(tuple.map((value, i) => encodeKey(value, fields[i]!.descending))),
    ),
  )
}

function least(keys: readonly Buffer[]): Buffer {
  return keys.reduce((best, key) => (Buffer.compare(key, best) < 0 ? key : best))
}

/** Memory limit of a sort, in bytes of documents, as in MongoDB. */
const SORT_BYTES_MAX = 100 * 1024 * 1024

/**
 * Keeps the first `limit` items in order, or all without a limit. Items with equal keys keep their
 * order of insertion.
 * @throws CommandError if the memory limit is exceeded
 */
export class Sorter<T> {
  readonly #limit: number
  #entries: { readonly key: Buffer; readonly order: number; readonly item: T; bytes: number }[] = []
  #added = 0
  #bytes = 0

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit
  }

  add(key: Buffer, item: T, itemBytes: number): void {
    const bytes = key.length + itemBytes
    this.#entries.push({ key, order: this.#added++, item, bytes })
    this.#bytes += bytes
    // Sorting from time to time bounds memory at twice the limit, at little cost per item.
    if (this.#entries.length >= 2 * this.#limit + 64) this.#trim()
    if (this.#bytes <= SORT_BYTES_MAX) return
    this.#trim()
    if (this.#bytes <= SORT_BYTES_MAX) return
    throw new MongoCommandError(
      'QueryExceededMemoryLimitNoDiskUseAllowed',
      `Sort exceeded memory limit of ${SORT_BYTES_MAX} bytes: an index or a limit would help`,
    )
  }

  take(): T[] {
    this.#trim()
    return this.#entries.map(({ item }) => item)
  }

  #trim(): void {
    this.#entries.sort((a, b) => Buffer.compare(a.key, b.key) || a.order - b.order)
    if (this.#entries.length <= this.#limit) return
    for (const { bytes } of this.#entries.splice(this.#limit)) this.#bytes -= bytes
  }
}
