import { MongoCommandError, notImplemented } from '../errors.ts'
import type { Doc } from '../values/document.ts'
import { encodeComponents, encodeKey } from '../values/key-encoding.ts'
import { type PathValues, pathValues } from '../values/path.ts'
import type { Index } from './catalog.ts'
import { KEY_BYTES_MAX, type Range } from './storage.ts'

/*
 * Entries of all indexes share one table. A key is the index id (4 bytes), the key components, and
 * for a non-unique index SEPARATOR and the record number (6 bytes). The value is the record number.
 */

const RECORD_BYTES = 6
/** Less than any first byte of a component, so that a shorter key sorts before a longer one. */
const SEPARATOR = 0x04
/** Greater than any first byte of a component. */
const AFTER_ALL = Buffer.from([0xff])
/** Maximum length of the key components of an entry. */
export const COMPONENTS_BYTES_MAX = KEY_BYTES_MAX - 4 - 1 - RECORD_BYTES

export type DocKeys = {
  /** Key components of the entries of a document in an index, without duplicates. */
  readonly keys: readonly Buffer[]
  readonly multikey: boolean
}

const NO_KEYS: DocKeys = { keys: [], multikey: false }

/**
 * The keys of a document in an index, cut at the maximum length unless the index is unique: ranges
 * are cut likewise, and the filter is evaluated on each document.
 * @throws CommandError for parallel arrays, and for keys of a unique index that are too long
 */
export function keysOf(index: Index, doc: Doc): DocKeys {
  if (index.covers && !index.covers(doc)) return NO_KEYS
  const found = index.fields.map(({ parts }) => pathValues(doc, parts))
  if (index.sparse && found.every(({ missing }) => missing)) return NO_KEYS
  const multikey = found.some(({ arrayPath }) => arrayPath !== undefined)
  if (!multikey) {
    const key = encodeComponents(
      found.map(({ values }) => values[0]!),
      index.fields,
    )
    return { keys: [withinLength(index, key)], multikey }
  }
  checkArrays(index, found)
  let keys: Buffer[] = [Buffer.alloc(0)]
  found.forEach(({ values }, i) => {
    const descending = index.fields[i]!.descending
    const encoded = values.map((value) => encodeKey(value, descending))
    keys = keys.flatMap((key) => encoded.map((next) => Buffer.concat([key, next])))
  })
  return { keys: withoutDoubles(keys.map((key) => withinLength(index, key))), multikey }
}

function checkArrays(index: Index, found: readonly PathValues[]): void {
  const arrays = found.flatMap(({ arrayPath }) => (arrayPath === undefined ? [] : [arrayPath]))
  if (arrays.length < 2) return
  const [first, second] = arrays
  if (new Set(arrays).size > 1) {
    throw new MongoCommandError(
      'CannotIndexParallelArrays',
      `cannot index parallel arrays [${second}] [${first}]`,
    )
  }
  // MongoDB indexes the values of each element together; this server indexes all combinations.
  if (index.unique) throw notImplemented('a unique index of several fields in one array')
}

function withinLength(index: Index, key: Buffer): Buffer {
  if (key.length <= COMPONENTS_BYTES_MAX) return key
  if (!index.unique) return key.subarray(0, COMPONENTS_BYTES_MAX)
  throw new MongoCommandError(
    'KeyTooLong',
    `key too large to index for '${index.name}': ${key.length} bytes, ` +
      `the embedded server supports up to ${COMPONENTS_BYTES_MAX}`,
  )
}

function withoutDoubles(keys: readonly Buffer[]): Buffer[] {
  const found = new Map(keys.map((key) => [key.toString('latin1'), key]))
  return [...found.values()]
}

function prefixOf(index: Index): Buffer {
  const prefix = Buffer.alloc(4)
  prefix.writeUInt32BE(index.id)
  return prefix
}

/** Key of an entry; in a unique index it does not depend on the record. */
export function entryKey(index: Index, components: Buffer, record: number): Buffer {
  const end = 4 + components.length
  const key = Buffer.allocUnsafe(index.unique ? end : end + 1 + RECORD_BYTES)
  key.writeUInt32BE(index.id, 0)
  key.set(components, 4)
  if (index.unique) return key
  key[end] = SEPARATOR
  key.writeUIntBE(record, end + 1, RECORD_BYTES)
  return key
}

export function recordBytes(record: number): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES)
  bytes.writeUIntBE(record, 0, RECORD_BYTES)
  return bytes
}

export function recordOf(bytes: Buffer): number {
  return bytes.readUIntBE(bytes.length - RECORD_BYTES, RECORD_BYTES)
}

/** All entries whose components begin with `components`. */
export function entriesBelow(index: Index, components: Buffer): Range {
  const start = Buffer.concat([prefixOf(index), components.subarray(0, COMPONENTS_BYTES_MAX)])
  return { start, end: Buffer.concat([start, AFTER_ALL]) }
}

/** Bounds of one component after a prefix of complete components. */
export type Bounds = {
  readonly from: { readonly key: Buffer; readonly inclusive: boolean }
  readonly to: { readonly key: Buffer; readonly inclusive: boolean }
}

export function entriesBetween(index: Index, components: Buffer, { from, to }: Bounds): Range {
  const at = (limit: Buffer, isBehind: boolean, whenCut: boolean) => {
    const whole = Buffer.concat([components, limit])
    const isCut = whole.length > COMPONENTS_BYTES_MAX
    const end = (isCut ? whenCut : isBehind) ? [AFTER_ALL] : []
    return Buffer.concat([prefixOf(index), whole.subarray(0, COMPONENTS_BYTES_MAX), ...end])
  }
  return { start: at(from.key, !from.inclusive, false), end: at(to.key, to.inclusive, true) }
}

/** Key of a document: collection id (4 bytes) and record number. */
export function docKey(collectionId: number, record: number): Buffer {
  const key = Buffer.allocUnsafe(4 + RECORD_BYTES)
  key.writeUInt32BE(collectionId)
  key.writeUIntBE(record, 4, RECORD_BYTES)
  return key
}

export function docsOf(collectionId: number): Range {
  return { start: docKey(collectionId, 0), end: docKey(collectionId + 1, 0) }
}
