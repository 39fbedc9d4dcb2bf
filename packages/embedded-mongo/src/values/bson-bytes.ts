import { Double, Int32, Long, ObjectId } from 'bson'
import { decode, type Value } from './document.ts'

/** Type bytes of BSON elements. */
export const BSON_TYPE = {
  double: 0x01,
  string: 0x02,
  object: 0x03,
  array: 0x04,
  binary: 0x05,
  undefined: 0x06,
  objectId: 0x07,
  boolean: 0x08,
  date: 0x09,
  null: 0x0a,
  regex: 0x0b,
  dbPointer: 0x0c,
  code: 0x0d,
  symbol: 0x0e,
  codeWithScope: 0x0f,
  int32: 0x10,
  timestamp: 0x11,
  int64: 0x12,
  decimal: 0x13,
  maxKey: 0x7f,
  minKey: 0xff,
} as const

/** Bytes of values with a fixed length, by type; -1 for all other types. */
const FIXED_BYTES = new Int8Array(256).fill(-1)
for (const [type, length] of [
  [BSON_TYPE.double, 8],
  [BSON_TYPE.undefined, 0],
  [BSON_TYPE.objectId, 12],
  [BSON_TYPE.boolean, 1],
  [BSON_TYPE.date, 8],
  [BSON_TYPE.null, 0],
  [BSON_TYPE.int32, 4],
  [BSON_TYPE.timestamp, 8],
  [BSON_TYPE.int64, 8],
  [BSON_TYPE.decimal, 16],
  [BSON_TYPE.maxKey, 0],
  [BSON_TYPE.minKey, 0],
] as const) {
  FIXED_BYTES[type] = length
}

export function int32At(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}

/**
 * End of a value in a document that `decode` accepts; -1 for an unknown type. Lengths inside the
 * bytes are not checked.
 */
export function valueEnd(bytes: Uint8Array, type: number, at: number): number {
  const fixed = FIXED_BYTES[type]!
  if (fixed >= 0) return at + fixed
  switch (type) {
    case BSON_TYPE.string:
    case BSON_TYPE.code:
    case BSON_TYPE.symbol:
      return at + 4 + int32At(bytes, at)
    case BSON_TYPE.object:
    case BSON_TYPE.array:
    case BSON_TYPE.codeWithScope:
      return at + int32At(bytes, at)
    case BSON_TYPE.binary:
      return at + 5 + int32At(bytes, at)
    case BSON_TYPE.dbPointer:
      return at + 4 + int32At(bytes, at) + 12
    case BSON_TYPE.regex:
      return bytes.indexOf(0, bytes.indexOf(0, at) + 1) + 1
    default:
      return -1
  }
}

/** Decodes one value, equal to that of `decode` for the whole document. */
export function valueAt(bytes: Buffer, type: number, start: number, end: number): Value {
  switch (type) {
    case BSON_TYPE.int32:
      return new Int32(int32At(bytes, start))
    case BSON_TYPE.double:
      return new Double(bytes.readDoubleLE(start))
    case BSON_TYPE.int64:
      return new Long(int32At(bytes, start), int32At(bytes, start + 4))
    case BSON_TYPE.string:
      return bytes.toString('utf8', start + 4, end - 1)
    case BSON_TYPE.boolean:
      return bytes[start] !== 0
    case BSON_TYPE.null:
      return null
    case BSON_TYPE.date:
      return new Date(int32At(bytes, start + 4) * 2 ** 32 + (int32At(bytes, start) >>> 0))
    case BSON_TYPE.objectId:
      return new ObjectId(Uint8Array.prototype.slice.call(bytes, start, end))
    default:
      return decode(wrapped(bytes, type, start, end))['']
  }
}

/** A document with the value as its only field, whose name is empty. */
function wrapped(bytes: Buffer, type: number, start: number, end: number): Buffer {
  const doc = Buffer.alloc(end - start + 7)
  doc.writeInt32LE(doc.length, 0)
  doc[4] = type
  bytes.copy(doc, 6, start, end)
  return doc
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
