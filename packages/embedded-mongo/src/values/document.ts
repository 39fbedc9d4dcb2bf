import {
  type Binary,
  BSON,
  type BSONRegExp,
  type BSONSymbol,
  type Code,
  DBRef,
  type Decimal128,
  type Double,
  type Int32,
  type Long,
  type MaxKey,
  type MinKey,
  type ObjectId,
  type Timestamp,
} from 'bson'
import { MongoCommandError } from '../errors.ts'

export type Numeric = Int32 | Double | Long | Decimal128

/**
 * A typed BSON value: no number is promoted to a JavaScript number, so a value keeps its type when
 * it is read and written again.
 */
export type Value =
  | string
  | boolean
  | null
  | undefined
  | Date
  | Numeric
  | ObjectId
  | Binary
  | Timestamp
  | BSONRegExp
  | BSONSymbol
  | Code
  | DBRef
  | MinKey
  | MaxKey
  | Value[]
  | Doc

export type Doc = { [field: string]: Value }

/** Maximum size of a stored document, in bytes. */
export const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024
/** Maximum size of an intermediate result: a stored document plus some overhead. */
const ENCODED_BYTES_MAX = DOCUMENT_BYTES_MAX + 16 * 1024

/**
 * Decodes a document with typed values.
 * @throws CommandError if the bytes are not BSON
 */
export function decode(bytes: Uint8Array): Doc {
  try {
    return BSON.deserialize(bytes, { promoteValues: false, bsonRegExp: true }) as Doc
  } catch (error) {
    throw new MongoCommandError('FailedToParse', `invalid BSON: ${(error as Error).message}`)
  }
}

/** Encodes a document of typed values; replies may contain JavaScript numbers. */
export function encode(doc: Readonly<Record<string, unknown>>): Uint8Array {
  const bytes = BSON.serialize(doc, { ignoreUndefined: false })
  if (bytes.length > ENCODED_BYTES_MAX) {
    throw new MongoCommandError(
      'BSONObjectTooLarge',
      `document of ${bytes.length} bytes is too large`,
    )
  }
  return bytes
}

export function isArray(value: Value): value is Value[] {
  return Array.isArray(value)
}

/** Whether the value is an embedded document, not an array or another BSON class. */
export function isDoc(value: Value): value is Doc {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return !('_bsontype' in value) && !(value instanceof Date)
}

/** A DBRef is decoded to its own class, but is compared and traversed like a document. */
export function asDoc(value: Value): Doc | undefined {
  if (value instanceof DBRef) {
    const { collection, oid, db, fields } = value
    const reference = { $ref: collection, $id: oid, ...(db ? { $db: db } : {}) }
    return { ...reference, ...(fields as Doc) }
  }
  return isDoc(value) ? value : undefined
}

/** The value of an own field, undefined if it does not exist: names like `constructor` are data. */
export function fieldOf(doc: Doc, name: string): Value {
  return Object.hasOwn(doc, name) ? doc[name] : undefined
}

export function setField(doc: Doc, name: string, value: Value): void {
  if (name !== '__proto__') doc[name] = value
  else Object.defineProperty(doc, name, { value, writable: true, enumerable: true })
}
