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
 * A BSON value that has kept its type: no number is promoted to a JavaScript number, so that what
 * is read and written again has the type it had.
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

/** Largest document of a collection, in bytes. */
export const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024
/** Largest result of an operator on the way: a stored document and a little more. */
const ENCODED_BYTES_MAX = DOCUMENT_BYTES_MAX + 16 * 1024

/**
 * The document in these bytes, with typed values.
 * @throws CommandError if they are no BSON
 */
export function decode(bytes: Uint8Array): Doc {
  try {
    return BSON.deserialize(bytes, { promoteValues: false, bsonRegExp: true }) as Doc
  } catch (error) {
    throw new MongoCommandError('FailedToParse', `invalid BSON: ${(error as Error).message}`)
  }
}

/** The bytes of a document: typed values, or JavaScript numbers in replies. */
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

/** Whether the value is an embedded document (not an array, not one of the BSON classes). */
export function isDoc(value: Value): value is Doc {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return !('_bsontype' in value) && !(value instanceof Date)
}

/** A reference is decoded to a class of its own, but compares and is walked like a document. */
export function asDoc(value: Value): Doc | undefined {
  if (value instanceof DBRef) {
    const { collection, oid, db, fields } = value
    const reference = { $ref: collection, $id: oid, ...(db ? { $db: db } : {}) }
    return { ...reference, ...(fields as Doc) }
  }
  return isDoc(value) ? value : undefined
}

/** The value of an own field, undefined if there is none: names like `constructor` are data. */
export function fieldOf(doc: Doc, name: string): Value {
  return Object.hasOwn(doc, name) ? doc[name] : undefined
}

export function setField(doc: Doc, name: string, value: Value): void {
  if (name !== '__proto__') doc[name] = value
  else Object.defineProperty(doc, name, { value, writable: true, enumerable: true })
}
