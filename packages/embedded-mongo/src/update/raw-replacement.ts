import type { OperationRefusal } from '../errors.ts'
import { compileOperator } from '../query/match-operators.ts'
import type { Collection } from '../store/catalog.ts'
import type { UniqueSlots } from '../store/index-layout.ts'
import { IndexedDocument } from '../store/indexed-document.ts'
import { type Records, Row } from '../store/records.ts'
import { BSON_TYPE } from '../values/bson-bytes.ts'
import { DOCUMENT_BYTES_MAX, type Value } from '../values/document.ts'
import { decodeRaw, isSameRaw, RawFields, type RawValue } from '../values/raw-fields.ts'
import { ID_AT, isScalar, type RawReplacement, withIdInFront } from './raw-operation.ts'

/** Numbers of documents matched and changed; `upsertedId` is that of an inserted document. */
export type RawReplaceResult = {
  readonly matched: number
  readonly modified: number
  readonly upsertedId?: Value
  /** OperationRefusal of the document of an upsert: another document has one of its keys. */
  readonly duplicate?: OperationRefusal | undefined
}

/** The values that a filter requires in the fields of a unique index, in the order of the index. */
type UniqueKey = UniqueSlots & { readonly values: readonly RawValue[] }

const UNMATCHED: RawReplaceResult = { matched: 0, modified: 0 }
const REPLACED: RawReplaceResult = { matched: 1, modified: 1 }
const UNCHANGED: RawReplaceResult = { matched: 1, modified: 0 }

/**
 * Replaces the document with the given unique key, or inserts one, without decoding more than the
 * indexed fields. Returns undefined, with nothing changed, if the general update has to do it.
 * @throws CommandError as the general update does
 */
export function applyRawReplacement(
  records: Records,
  ns: string,
  operation: RawReplacement,
): RawReplaceResult | undefined {
  const collection = records.catalog.find(ns)
  const key = collection && uniqueKeyOf(collection, operation)
  if (!key) return undefined
  const index = collection.indexes[key.position]!
  const row = records.findUnique(collection, index, key.values.map(decodeRaw))
  if (row) {
    const isFound = matches(collection, key, operation, row)
    if (isFound === undefined) return undefined
    if (isFound) return replace(records, collection, row, operation)
  }
  return operation.upsert ? insert(records, collection, key, operation) : UNMATCHED
}

/** The key in the unique index whose fields are exactly those of the filter. */
function uniqueKeyOf(
  { layout }: Collection,
  { equalities, newer }: RawReplacement,
): UniqueKey | undefined {
  const found: RawValue[] = []
  for (const element of equalities) {
    const slot = layout.fields.slotOf(element.bytes, element.nameAt, element.nameEnd)
    if (slot < 0) return undefined
    found[slot] = element
  }
  for (const { position, slots } of layout.identities) {
    if (slots.length !== equalities.length) continue
    const values: RawValue[] = []
    for (const slot of slots) if (found[slot]) values.push(found[slot])
    if (values.length !== slots.length) continue
    // As in `decode`, the later of two conditions with one name counts.
    const isTwice =
      newer && slots.some((slot) => layout.fields.names[slot] === newer.field.names[0])
    return isTwice ? undefined : { position, slots, values }
  }
  return undefined
}

/**
 * Whether the document with the key matches the whole filter; undefined if that is not certain:
 * equal keys may belong to values of different types, and to elements of arrays.
 */
function matches(
  collection: Collection,
  { slots, values }: UniqueKey,
  { newer }: RawReplacement,
  row: Row,
): boolean | undefined {
  const { fields } = row.indexed(collection)
  for (let i = 0; i < values.length; i++) {
    const stored = fields.raw(slots[i]!)
    if (!stored || !isSameRaw(stored, values[i]!)) return undefined
  }
  if (!newer) return true
  const version = new RawFields(newer.field, row.bytes).raw(0)
  if (!version) return false
  if (version.type === BSON_TYPE.array) return undefined
  const test = compileOperator('$lt', { $lt: decodeRaw(newer.below) })
  return test?.test(decodeRaw(version)) ?? false
}

function replace(
  records: Records,
  collection: Collection,
  row: Row,
  { replacement }: RawReplacement,
): RawReplaceResult | undefined {
  const storedId = row.indexed(collection).fields.raw(collection.layout.idSlot)
  const bytes = storedId && isScalar(storedId) && withIdInFront(replacement, storedId)
  if (!bytes || bytes.length > DOCUMENT_BYTES_MAX) return undefined
  const changed = new Row(row.record, bytes)
  if (!hasIdInFront(collection, changed.indexed(collection))) return undefined
  return records.replace(collection.ns, row, changed) ? REPLACED : UNCHANGED
}

function insert(
  records: Records,
  collection: Collection,
  { slots, values }: UniqueKey,
  { replacement }: RawReplacement,
): RawReplaceResult | undefined {
  const { layout } = collection
  const id = values[slots.indexOf(layout.idSlot)]
  const bytes = withIdInFront(replacement, id)
  if (!bytes || bytes.length > DOCUMENT_BYTES_MAX) return undefined
  const document = new IndexedDocument(layout, bytes)
  if (!hasIdInFront(collection, document)) return undefined
  const inserted = records.insertIndexed(collection.ns, document)
  if (!(inserted instanceof Row)) return { ...UNMATCHED, duplicate: inserted }
  const upsertedId = decodeRaw(document.fields.raw(layout.idSlot)!)
  return { ...UNMATCHED, upsertedId }
}

/** Not if the replacement has a further `_id` behind its other fields. */
function hasIdInFront({ layout }: Collection, { fields }: IndexedDocument): boolean {
  return fields.raw(layout.idSlot)?.start === ID_AT
}
