import { BSONRegExp } from 'bson'
import { type ErrorCodeName, MongoCommandError } from '../errors.ts'
import { withId } from '../update/update.ts'
import {
  DOCUMENT_BYTES_MAX,
  type Doc,
  decode,
  encode,
  fieldOf,
  isArray,
  isDoc,
} from '../values/document.ts'
import type { Collection, CollectionCatalog, Index, IndexSpec } from './catalog.ts'
import { duplicateKey } from './duplicate-key.ts'
import {
  type DocKeys,
  docKey,
  docsOf,
  entriesBelow,
  entryKey,
  keysOf,
  recordBytes,
  recordOf,
} from './index-keys.ts'
import type { Range, Storage } from './storage.ts'

/** A stored document, decoded on first access. */
export class Row {
  readonly record: number
  readonly bytes: Uint8Array
  #doc: Doc | undefined

  constructor(record: number, bytes: Uint8Array) {
    this.record = record
    this.bytes = bytes
  }

  get doc(): Doc {
    this.#doc ??= decode(this.bytes)
    return this.#doc
  }

  /**
   * Drops the decoded document, which is much larger than its bytes, so that many rows can be kept.
   */
  withoutDoc(): Row {
    this.#doc = undefined
    return this
  }
}

type DocIndexKeys = readonly (readonly [Index, DocKeys])[]

/**
 * Documents and their index entries, which always change together. All changes must be made inside
 * a write of the storage, after all checks.
 */
export class Records {
  readonly storage: Storage
  readonly catalog: CollectionCatalog
  /** Number of index entries and documents that queries have read since the start. */
  readonly examined = { keys: 0, documents: 0 }
  /** Next record number of each collection; a number is never reused. */
  readonly #next = new Map<number, number>()

  constructor(storage: Storage, catalog: CollectionCatalog) {
    this.storage = storage
    this.catalog = catalog
  }

  get(collection: Collection, record: number): Row | undefined {
    const bytes = this.storage.docs.get(docKey(collection.id, record))
    this.examined.documents += 1
    return bytes && new Row(record, bytes)
  }

  /** Documents in insertion order; yields null from time to time so that other work can run. */
  *scan(collection: Collection): Generator<Row | null> {
    for (const entry of this.storage.walk(this.storage.docs, docsOf(collection.id))) {
      if (entry) this.examined.documents += 1
      yield entry && new Row(recordOf(entry.key), entry.value)
    }
  }

  /** Record numbers of index entries in key order; yields null from time to time. */
  *scanIndex(range: Range, reverse: boolean): Generator<number | null> {
    for (const entry of this.storage.walk(this.storage.entries, range, reverse)) {
      if (entry) this.examined.keys += 1
      yield entry && recordOf(entry.value)
    }
  }

  count(collection: Collection): number {
    return this.storage.count(this.storage.docs, docsOf(collection.id))
  }

  /** @throws CommandError for a duplicate key, an invalid `_id` or a document that is too large */
  insert(ns: string, received: Doc, receivedBytes?: Uint8Array): Row {
    const collection = this.catalog.findOrCreate(ns)
    const doc = withId(received)
    checkId(doc)
    const bytes = doc === received && receivedBytes ? receivedBytes : encode(doc)
    checkSize(bytes, bytes.length > MESSAGE_DOC_BYTES_MAX ? 'BSONObjectTooLarge' : 'BadValue')
    const keys = indexKeys(collection, doc)
    this.#checkUnique(collection, keys, doc, undefined)
    const record = this.#takeRecord(collection)
    this.storage.put(this.storage.docs, docKey(collection.id, record), asBuffer(bytes))
    for (const [index, { keys: added }] of keys) this.#addEntries(index, added, record)
    this.#markMultikey(ns, keys)
    return new Row(record, bytes)
  }

  /**
   * Stores a new version of a document; `oldKeys` are the keys of the stored version.
   * @returns the row, undefined if nothing has changed
   */
  replace(ns: string, row: Row, oldKeys: DocIndexKeys, doc: Doc): Row | undefined {
    const collection = this.catalog.findOrCreate(ns)
    const bytes = encode(doc)
    if (Buffer.compare(bytes, row.bytes) === 0) return undefined
    checkSize(bytes, 'Location17419')
    const keys = indexKeys(collection, doc)
    this.#checkUnique(collection, keys, doc, row.record)
    this.storage.put(this.storage.docs, docKey(collection.id, row.record), asBuffer(bytes))
    keys.forEach(([index, { keys: after }], i) => {
      const before = oldKeys[i]![1].keys
      this.#removeEntries(index, without(before, after), row.record)
      this.#addEntries(index, without(after, before), row.record)
    })
    this.#markMultikey(ns, keys)
    return new Row(row.record, bytes)
  }

  /** Index keys of a stored document; read them before an update changes the document. */
  keysOf(ns: string, doc: Doc): DocIndexKeys {
    return indexKeys(this.catalog.findOrCreate(ns), doc)
  }

  remove(collection: Collection, row: Row): void {
    for (const [index, { keys }] of indexKeys(collection, row.doc)) {
      this.#removeEntries(index, keys, row.record)
    }
    this.storage.remove(this.storage.docs, docKey(collection.id, row.record))
  }

  drop(collection: Collection): void {
    for (const index of collection.indexes) this.#clearEntries(index)
    this.storage.clear(this.storage.docs, docsOf(collection.id))
    this.catalog.remove(collection.ns)
  }

  /** @throws CommandError if existing documents violate the index; then nothing is changed */
  createIndex(ns: string, spec: IndexSpec): void {
    this.storage.undoable(() => {
      const index = this.catalog.addIndex(ns, spec)
      const collection = this.catalog.findOrCreate(ns)
      for (const row of this.scan(collection)) {
        if (!row) continue
        const keys: DocIndexKeys = [[index, keysOf(index, row.doc)]]
        this.#checkUnique(collection, keys, row.doc, row.record)
        for (const [, { keys: added }] of keys) this.#addEntries(index, added, row.record)
        this.#markMultikey(ns, keys)
      }
    })
  }

  dropIndex(ns: string, index: Index): void {
    this.#clearEntries(index)
    this.catalog.removeIndex(ns, index)
  }

  #takeRecord(collection: Collection): number {
    let next = this.#next.get(collection.id)
    if (next === undefined) {
      const last = this.storage.lastOf(this.storage.docs, docsOf(collection.id))
      next = last ? recordOf(last.key) + 1 : 1
    }
    this.#next.set(collection.id, next + 1)
    return next
  }

  #checkUnique(
    collection: Collection,
    keys: DocIndexKeys,
    doc: Doc,
    ownRecord: number | undefined,
  ): void {
    for (const [index, { keys: added }] of keys) {
      if (!index.unique) continue
      for (const key of added) {
        const holder = this.storage.entries.get(entryKey(index, key, 0))
        if (holder && recordOf(holder) !== ownRecord)
          throw duplicateKey(collection.ns, index, key, doc)
      }
    }
  }

  #addEntries(index: Index, keys: readonly Buffer[], record: number): void {
    const value = recordBytes(record)
    for (const key of keys)
      this.storage.put(this.storage.entries, entryKey(index, key, record), value)
  }

  #removeEntries(index: Index, keys: readonly Buffer[], record: number): void {
    for (const key of keys) this.storage.remove(this.storage.entries, entryKey(index, key, record))
  }

  #clearEntries(index: Index): void {
    this.storage.clear(this.storage.entries, entriesBelow(index, NOTHING))
  }

  #markMultikey(ns: string, keys: DocIndexKeys): void {
    for (const [index, { multikey }] of keys) {
      if (multikey && !index.multikey) this.catalog.markMultikey(ns, index)
    }
  }
}

const NOTHING = Buffer.alloc(0)

function indexKeys(collection: Collection, doc: Doc): DocIndexKeys {
  return collection.indexes.map((index) => [index, keysOf(index, doc)])
}

/** Keys of `a` that are not in `b`; both lists are short. */
function without(a: readonly Buffer[], b: readonly Buffer[]): Buffer[] {
  return a.filter((key) => !b.some((other) => other.equals(key)))
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function checkId(doc: Doc): void {
  const id = fieldOf(doc, '_id')
  if (isArray(id) || id instanceof BSONRegExp || id === undefined) {
    const what = isArray(id) ? 'array' : id === undefined ? 'undefined' : 'regex'
    throw new MongoCommandError('InvalidIdField', `The '_id' value cannot be of type ${what}`)
  }
  const dollar = isDoc(id) ? Object.keys(id).find((name) => name.startsWith('$')) : undefined
  if (dollar === undefined) return
  throw new MongoCommandError(
    'DollarPrefixedFieldName',
    `_id fields may not contain '$'-prefixed fields: ${dollar} is not valid for storage.`,
  )
}

/** Maximum size of a received document: the limit of a stored one plus some overhead. */
const MESSAGE_DOC_BYTES_MAX = DOCUMENT_BYTES_MAX + 16 * 1024

function checkSize(bytes: Uint8Array, code: ErrorCodeName): void {
  if (bytes.length <= DOCUMENT_BYTES_MAX) return
  throw new MongoCommandError(
    code,
    `the document has ${bytes.length} bytes, the maximum is ${DOCUMENT_BYTES_MAX}`,
  )
}
