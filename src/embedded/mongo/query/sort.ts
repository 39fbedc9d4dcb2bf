import { CommandError, notImplemented } from '../errors.ts'
import { asDoc, type Doc, isDoc, type Value } from '../values/document.ts'
import { encodeKey } from '../values/key-encoding.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'
import { pathValues } from '../values/path.ts'

export type SortField = {
  readonly path: string
  readonly parts: readonly string[]
  readonly descending: boolean
}

/** @throws CommandError for anything but directions of 1 and -1 */
export function parseSort(spec: Value): SortField[] {
  if (spec === undefined) return []
  if (!isDoc(spec)) throw new CommandError('TypeMismatch', 'a sort must be an object')
  return Object.keys(spec).map((path) => {
    const direction = spec[path]
    if (asDoc(direction)) throw notImplemented(`the sort order of '${path}' by an expression`)
    const sign = isNumeric(direction) ? toNumber(direction) : 0
    if (sign !== 1 && sign !== -1) {
      throw new CommandError(
        'Location15975',
        `$sort key ordering must be 1 (for ascending) or -1 (for descending): '${path}'`,
      )
    }
    const parts = path.split('.')
    if (parts.some((part) => part === '' || part.startsWith('$'))) {
      throw new CommandError('Location16410', `'${path}' cannot be a sort key`)
    }
    return { path, parts, descending: sign === -1 }
  })
}

/**
 * Bytes that order documents as the sort demands. An array sorts by its least element, descending
 * by its greatest; a missing field as null.
 */
export function sortKey(doc: Doc, fields: readonly SortField[]): Buffer {
  const keys = fields.map(({ parts, descending }) => {
    let best: Buffer | undefined
    for (const value of pathValues(doc, parts).values) {
      const key = encodeKey(value, descending)
      // Inverted bytes put the greatest first, so the least key is wanted in both directions.
      if (!best || Buffer.compare(key, best) < 0) best = key
    }
    return best ?? encodeKey(null, descending)
  })
  return keys.length === 1 && keys[0] ? keys[0] : Buffer.concat(keys)
}

/** What a sort may hold in memory, in bytes of documents: the server's own limit. */
const SORT_BYTES_MAX = 100 * 1024 * 1024

/**
 * Keeps the first `limit` of what is added, in order; all without a limit. Equal keys stay in the
 * order in which they came.
 * @throws CommandError if that is more than a sort may hold
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
    // Sorting now and then keeps memory at twice the limit, at little cost per item.
    if (this.#entries.length >= 2 * this.#limit + 64) this.#trim()
    if (this.#bytes <= SORT_BYTES_MAX) return
    this.#trim()
    if (this.#bytes <= SORT_BYTES_MAX) return
    throw new CommandError(
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
