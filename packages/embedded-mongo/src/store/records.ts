import { BSONRegExp } from 'bson'
import { type ErrorCodeName, MongoCommandError, type OperationRefusal } from '../errors.ts'
import { withId } from '../update/update.ts'
import { asBuffer } from '../values/bson-bytes.ts'
import {
  DOCUMENT_BYTES_MAX,
  type Doc,
  decode,
  encode,
  fieldOf,
  isArray,
  isDoc,
  type Value,
} from '../values/document.ts'
import { encodeComponents } from '../values/key-encoding.ts'
import { type FieldNames, RawFields } from '../values/raw-fields.ts'
import type { Catalog, Collection, Index } from './catalog.ts'
import { duplicateKey } from './duplicate-key.ts'
import {
  COMPONENTS_BYTES_MAX,
  type DocKeys,
  docKey,
  docsOf,
  entryKey,
  keysOf,
  recordBytes,
  recordOf,
} from './index-keys.ts'
import { IndexedDocument } from './indexed-document.ts'
import type { RecordNumbers } from './record-numbers.ts'
import type { DocumentStore, Range } from './storage.ts'

/** A stored document, decoded on first access. */
export class Row {
  readonly record: number
  readonly bytes: Buffer
  #doc: Doc | undefined
  #indexed: IndexedDocument | undefined

  constructor(record: number, bytes: Buffer) {
    this.record = record
    this.bytes = bytes
  }

  get doc(): Doc {
    this.#doc ??= decode(this.bytes)
    return this.#doc
  }

  /** From now on `doc` has these fields only, which takes less time. */
  decodeOnly(fields: FieldNames): void {
    this.#doc = new RawFields(fields, this.bytes).decodeAll()
  }

  /** The document as the indexes of its collection read it. */
  indexed({ layout }: Collection): IndexedDocument {
    this.#indexed ??= new IndexedDocument(layout, this.bytes)
    return this.#indexed
  }

  /**
   * Drops the decoded document, which is much larger than its bytes, so that many rows can be kept.
   */
  withoutDoc(): Row {
    this.#doc = undefined
    this.#indexed = undefined
    return this
  }
}

/** Keys of a document in one index, and the fields of it that the index reads. */
type IndexEntries = DocKeys & { readonly index: Index; readonly doc: Doc }

/** Entries of an index that a new version of a document replaces. */
type EntryChange = { readonly before: IndexEntries; readonly after: IndexEntries }

/**
 * Documents and their index entries, which always change together. All changes must be made inside
 * a write of the storage, after all checks.
 */
export class Records {
  readonly storage: DocumentStore
  readonly catalog: Catalog
  readonly #numbers: RecordNumbers

  constructor(storage: DocumentStore, catalog: Catalog, numbers: RecordNumbers) {
    this.storage = storage
    this.catalog = catalog
    this.#numbers = numbers
  }

  /** The same collections as `storage` and `catalog` show them. */
  within(storage: DocumentStore, catalog: Catalog): Records {
    return new Records(storage, catalog, this.#numbers)
  }

  /** Number of index entries and documents that queries have read since the start. */
  get examined(): RecordNumbers['examined'] {
    return this.#numbers.examined
  }

  get(collection: Collection, record: number): Row | undefined {
    const bytes = this.storage.get(this.storage.docs, docKey(collection.id, record))
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

  /**
   * The document with an entry of the given values in a unique index, in the order of the index. If
   * a field is an array, one of its elements is the value. The bytes of the row are valid until the
   * next read.
   */
  findUnique(collection: Collection, index: Index, values: readonly Value[]): Row | undefined {
    const key = encodeComponents(values, index.fields)
    if (key.length > COMPONENTS_BYTES_MAX) return undefined
    const record = this.#holderOf(index, key)
    if (record === undefined) return undefined
    this.examined.keys += 1
    const bytes = this.storage.peek(this.storage.docs, docKey(collection.id, record))
    this.examined.documents += 1
    return bytes && new Row(record, bytes)
  }

  /**
   * Inserts a document; returns the refusal of one with a key that another document has.
   * @throws CommandError for an invalid `_id` or a document that is too large
   */
  insert(ns: string, received: Doc, receivedBytes?: Uint8Array): Row | OperationRefusal {
    this.catalog.findOrCreate(ns)
    const doc = withId(received)
    checkId(doc)
    const bytes = doc === received && receivedBytes ? receivedBytes : encode(doc)
    return this.insertBytes(ns, asBuffer(bytes))
  }

  /** Inserts the bytes of a document that begins with a valid `_id`, like `insert`. */
  insertBytes(ns: string, bytes: Buffer): Row | OperationRefusal {
    const { layout } = this.catalog.findOrCreate(ns)
    return this.insertIndexed(ns, new IndexedDocument(layout, bytes))
  }

  /**
   * Inserts a document that begins with a valid `_id`, like `insert`.
   * @throws CommandError for a document that is too large
   */
  insertIndexed(ns: string, document: IndexedDocument): Row | OperationRefusal {
    const { bytes } = document
    const collection = this.catalog.findOrCreate(ns)
    checkSize(bytes, bytes.length > MESSAGE_DOC_BYTES_MAX ? 'BSONObjectTooLarge' : 'BadValue')
    const entries = entriesOf(collection, document)
    const duplicate = this.#findDuplicate(ns, entries, undefined)
    if (duplicate) return duplicate
    const record = this.#numbers.take(collection.id)
    this.storage.put(this.storage.docs, docKey(collection.id, record), bytes)
    for (const { index, keys } of entries) this.#addEntries(index, keys, record)
    this.#markMultikey(ns, entries)
    return new Row(record, bytes)
  }

  /**
   * Stores a new version of a document, whose record and `_id` are the same.
   * @returns whether anything has changed
   * @throws CommandError for a duplicate key or a document that is too large
   */
  replace(ns: string, row: Row, changed: Row): boolean {
    const { record, bytes } = changed
    if (bytes.equals(row.bytes)) return false
    checkSize(bytes, 'Location17419')
    const collection = this.catalog.findOrCreate(ns)
    const changes = entryChanges(collection, row, changed)
    // From here on the bytes of the row may be those of another document.
    const entries = changes.map(({ after }) => after)
    const duplicate = this.#findDuplicate(ns, entries, record)
    if (duplicate) throw MongoCommandError.of(duplicate)
    this.storage.put(this.storage.docs, docKey(collection.id, record), bytes)
    for (const { before, after } of changes) {
      this.#removeEntries(before.index, without(before.keys, after.keys), record)
      this.#addEntries(after.index, without(after.keys, before.keys), record)
    }
    this.#markMultikey(ns, entries)
    return true
  }

  remove(collection: Collection, row: Row): void {
    for (const { index, keys } of entriesOf(collection, row.indexed(collection))) {
      this.#removeEntries(index, keys, row.record)
    }
    this.storage.remove(this.storage.docs, docKey(collection.id, row.record))
  }

  /**
   * Adds the entries of a stored document to a new index.
   * @throws CommandError if the document violates the index
   */
  addToIndex(collection: Collection, index: Index, row: Row): void {
    const position = collection.indexes.indexOf(index)
    const entries = entriesIn(index, position, row.indexed(collection))
    const duplicate = this.#findDuplicate(collection.ns, [entries], row.record)
    if (duplicate) throw MongoCommandError.of(duplicate)
    this.#addEntries(index, entries.keys, row.record)
    this.#markMultikey(collection.ns, [entries])
  }

  #findDuplicate(
    ns: string,
    entries: readonly IndexEntries[],
    ownRecord: number | undefined,
  ): OperationRefusal | undefined {
    for (const { index, doc, keys } of entries) {
      if (!index.unique) continue
      for (const key of keys) {
        const holder = this.#holderOf(index, key)
        if (holder === undefined || holder === ownRecord) continue
        this.storage.checkCurrent(this.storage.entries, entryKey(index, key, 0))
        return duplicateKey(ns, index, key, doc)
      }
    }
    return undefined
  }

  /** Record number of the document with a key in a unique index. */
  #holderOf(index: Index, key: Buffer): number | undefined {
    const value = this.storage.peek(this.storage.entries, entryKey(index, key, 0))
    return value && recordOf(value)
  }

  #addEntries(index: Index, keys: readonly Buffer[], record: number): void {
    const value = recordBytes(record)
    for (const key of keys)
      this.storage.put(this.storage.entries, entryKey(index, key, record), value)
  }

  #removeEntries(index: Index, keys: readonly Buffer[], record: number): void {
    for (const key of keys) this.storage.remove(this.storage.entries, entryKey(index, key, record))
  }

  #markMultikey(ns: string, entries: readonly IndexEntries[]): void {
    for (const { index, multikey } of entries) {
      if (multikey && !index.multikey) this.catalog.markMultikey(ns, index)
    }
  }
}

function entriesOf({ indexes }: Collection, document: IndexedDocument): IndexEntries[] {
  return indexes.map((index, position) => entriesIn(index, position, document))
}

/** @throws CommandError for keys that the index cannot have */
function entriesIn(index: Index, position: number, document: IndexedDocument): IndexEntries {
  const doc = document.docFor(position)
  const { keys, multikey } = keysOf(index, doc)
  return { index, doc, keys, multikey }
}

/** The changed entries, only in indexes whose fields have changed. */
function entryChanges(collection: Collection, row: Row, changed: Row): EntryChange[] {
  const before = row.indexed(collection)
  const after = changed.indexed(collection)
  const changes: EntryChange[] = []
  collection.indexes.forEach((index, position) => {
    if (after.isSameFor(position, before)) return
    changes.push({
      before: entriesIn(index, position, before),
      after: entriesIn(index, position, after),
    })
  })
  return changes
}

/** Keys of `a` that are not in `b`; both lists are short. */
function without(a: readonly Buffer[], b: readonly Buffer[]): Buffer[] {
  return a.filter((key) => !b.some((other) => other.equals(key)))
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
