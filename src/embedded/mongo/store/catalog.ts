import { randomBytes } from 'node:crypto'
import { Int32 } from 'bson'
import { MongoCommandError } from '../errors.ts'
import { compileFilter, type DocumentMatcher } from '../query/matcher.ts'
import type { SortField } from '../query/sort.ts'
import { type Doc, decode, encode, type Value } from '../values/document.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'
import { IndexLayout, topLevelFields } from './index-layout.ts'
import { type Storage, StorageLostError } from './storage.ts'

/** Version of the disk format: keys, entries, and the documents of this table. */
const FORMAT = 1
const KEY_FORMAT = Buffer.from('format')
const KEY_OWNER = Buffer.from('owner')
const KEY_NEXT_ID = Buffer.from('next-id')
const COLLECTIONS = { start: Buffer.from('c:'), end: Buffer.from('c;') }
const NAMESPACE_BYTES_MAX = 255

export type Index = {
  readonly id: number
  readonly name: string
  /** The key pattern as received. */
  readonly key: Doc
  readonly fields: readonly SortField[]
  readonly unique: boolean
  readonly sparse: boolean
  readonly partial: Doc | undefined
  /** Whether a document belongs to the index; undefined if all documents do. */
  readonly covers: DocumentMatcher | undefined
  /** Top-level fields of a document that determine its keys. */
  readonly reads: readonly string[]
  /** Whether any document has several entries; if so, ranges cannot be intersected. */
  readonly multikey: boolean
}

export type IndexSpec = Pick<Index, 'name' | 'key' | 'unique' | 'sparse' | 'partial'>

export type Collection = {
  readonly ns: string
  readonly id: number
  readonly indexes: readonly Index[]
  readonly layout: IndexLayout
}

/** What commands on documents need of the collections. */
export interface Catalog {
  find(ns: string): Collection | undefined
  findOrCreate(ns: string): Collection
  markMultikey(ns: string, index: Index): void
}

/** The data folder has a format that this version does not support. */
export class StorageFormatError extends Error {
  override readonly name = 'StorageFormatError'
}

/** The collections and indexes: stored on disk, and cached in memory for queries. */
export class CollectionCatalog implements Catalog {
  readonly #storage: Storage
  readonly #token = randomBytes(16)
  readonly #collections = new Map<string, Collection>()
  #nextId = 1

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /**
   * Takes ownership of the store and reads its collections.
   * @throws StorageFormatError
   */
  async open(): Promise<void> {
    const { meta } = this.#storage
    await this.#storage.write(() => {
      const format = meta.get(KEY_FORMAT)
      if (format && format.readUInt32BE(0) !== FORMAT) {
        throw new StorageFormatError(
          `the embedded store has format ${format.readUInt32BE(0)}, this version reads ${FORMAT}`,
        )
      }
      this.#storage.put(meta, KEY_FORMAT, uint32(FORMAT))
      this.#storage.put(meta, KEY_OWNER, this.#token)
    })
    this.#storage.guard(() => this.#assertOwner())
    this.reload()
  }

  /** Reads the collections again after a rollback. */
  reload(): void {
    const { meta } = this.#storage
    this.#nextId = meta.get(KEY_NEXT_ID)?.readUInt32BE(0) ?? 1
    this.#collections.clear()
    for (const entry of this.#storage.walk(meta, COLLECTIONS)) {
      if (!entry) continue
      const ns = entry.key.toString().slice(2)
      this.#collections.set(ns, readCollection(ns, decode(entry.value)))
    }
  }

  /** The id of the next collection or index: all existing ones have a lower one. */
  get nextId(): number {
    return this.#nextId
  }

  find(ns: string): Collection | undefined {
    return this.#collections.get(ns)
  }

  /** Collections of a database, or of all databases, ordered by name. */
  list(database?: string): Collection[] {
    const all = [...this.#collections.values()]
    const found = database ? all.filter(({ ns }) => ns.startsWith(`${database}.`)) : all
    return found.sort((a, b) => (a.ns < b.ns ? -1 : 1))
  }

  /** The collection; if it does not exist it is created in this write, with its index of `_id`. */
  findOrCreate(ns: string): Collection {
    const found = this.find(ns)
    if (found) return found
    const id = this.#takeId()
    const idKey: Doc = { _id: new Int32(1) }
    const spec = { name: '_id_', key: idKey, unique: true, sparse: false, partial: undefined }
    return this.#store(makeCollection(ns, id, [makeIndex(this.#takeId(), spec, false)]))
  }

  addIndex(ns: string, spec: IndexSpec): Index {
    const { id, indexes } = this.findOrCreate(ns)
    const index = makeIndex(this.#takeId(), spec, false)
    this.#store(makeCollection(ns, id, [...indexes, index]))
    return index
  }

  removeIndex(ns: string, index: Index): void {
    const collection = this.findOrCreate(ns)
    const indexes = collection.indexes.filter(({ id }) => id !== index.id)
    this.#store(makeCollection(ns, collection.id, indexes))
  }

  /** Marks an index as having several entries per document; the mark is never removed. */
  markMultikey(ns: string, index: Index): void {
    const { id, indexes } = this.findOrCreate(ns)
    const mark = (each: Index) => (each.id === index.id ? { ...each, multikey: true } : each)
    this.#store(makeCollection(ns, id, indexes.map(mark)))
  }

  remove(ns: string): void {
    this.#storage.remove(this.#storage.meta, collectionKey(ns))
    this.#collections.delete(ns)
  }

  #store(collection: Collection): Collection {
    this.#storage.put(
      this.#storage.meta,
      collectionKey(collection.ns),
      encodeCollection(collection),
    )
    this.#collections.set(collection.ns, collection)
    return collection
  }

  #takeId(): number {
    const id = this.#nextId++
    this.#storage.put(this.#storage.meta, KEY_NEXT_ID, uint32(this.#nextId))
    return id
  }

  /** The folder lock should make this impossible; the check prevents corrupt data in any case. */
  #assertOwner(): void {
    const owner = this.#storage.meta.get(KEY_OWNER)
    if (owner?.equals(this.#token)) return
    throw new StorageLostError('another server has opened the data folder of this one')
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function collectionKey(ns: string): Buffer {
  return Buffer.from(`c:${ns}`)
}

/** @throws CommandError (InvalidNamespace) for invalid names */
export function checkNamespace(ns: string): void {
  const dot = ns.indexOf('.')
  const database = ns.slice(0, dot)
  const name = ns.slice(dot + 1)
  const isValid =
    name !== '' &&
    !/[$\0]/.test(name) &&
    !name.startsWith('system.') &&
    !name.startsWith('.') &&
    !/[/\\. "$\0]/.test(database) &&
    Buffer.byteLength(ns) <= NAMESPACE_BYTES_MAX
  if (!isValid)
    throw new MongoCommandError('InvalidNamespace', `Invalid namespace specified '${ns}'`)
}

function makeIndex(id: number, spec: IndexSpec, multikey: boolean): Index {
  const { name, key, unique, sparse, partial } = spec
  const fields = Object.keys(key).map((path) => {
    const direction = key[path]
    const descending = isNumeric(direction) && toNumber(direction) < 0
    return { path, parts: path.split('.'), descending }
  })
  const covers = partial && compileFilter(partial)
  const reads = topLevelFields(fields, partial)
  return { id, name, key, fields, unique, sparse, partial, covers, reads, multikey }
}

function makeCollection(ns: string, id: number, indexes: readonly Index[]): Collection {
  return { ns, id, indexes, layout: new IndexLayout(indexes) }
}

function encodeCollection({ id, indexes }: Collection): Buffer {
  const stored = indexes.map(({ fields, covers, reads, partial, ...index }) => {
    return partial ? { ...index, partial } : index
  })
  return Buffer.from(encode({ id, indexes: stored }))
}

function readCollection(ns: string, doc: Doc): Collection {
  const indexes = (doc['indexes'] as Doc[]).map((stored) => {
    const spec: IndexSpec = {
      name: String(stored['name']),
      key: stored['key'] as Doc,
      unique: stored['unique'] === true,
      sparse: stored['sparse'] === true,
      partial: stored['partial'] as Doc | undefined,
    }
    return makeIndex(intOf(stored['id']), spec, stored['multikey'] === true)
  })
  return makeCollection(ns, intOf(doc['id']), indexes)
}

function intOf(value: Value): number {
  return isNumeric(value) ? toNumber(value) : 0
}
