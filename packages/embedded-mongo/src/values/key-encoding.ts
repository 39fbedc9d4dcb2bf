import type { Binary, BSONRegExp, Code, ObjectId, Timestamp } from 'bson'
import { TYPE_CLASS, typeClass } from './compare.ts'
import { asDoc, type Doc, type Numeric, type Value } from './document.ts'
import {
  compareExact,
  type ExactNumber,
  exactOf,
  exactOfDouble,
  isNumeric,
  subtractExact,
  toNumber,
} from './numeric.ts'

/*
 * Bytes that compare (memcmp) as the values do, equal exactly if the values are equal. A key is a
 * type byte (`TYPE_CLASS`) and a self-delimiting payload:
 *
 *   number     00 NaN | 10 negative, all following bytes inverted | 20 zero | 30 positive;
 *              then the largest double ≤ |value|, big-endian, and what is missing to the exact
 *              value: 00 nothing, or 01, exponent + 0x4000 in 2 bytes, decimal digits, 00
 *   string     UTF-8, 00 and 01 written as 01 01 and 01 02, end 00
 *   object     per field: type byte, name and 00, payload; end 00
 *   array      the keys of the elements; end 00
 *   binary     length in 4 bytes, subtype, bytes      objectId   12 bytes
 *   boolean    1 byte                                 date       8 bytes, sign bit inverted
 *   timestamp  8 bytes                                regex      pattern, options as strings
 *
 * No key is a prefix of another, so a descending component may have all its bytes inverted.
 * No first byte of a component is below 05 or FF, so `prefix` … `prefix FF` holds all keys that
 * begin with these components.
 */

/** The value under which an empty array is indexed. */
export const EMPTY_ARRAY: unique symbol = Symbol('empty array')
export type KeyValue = Value | typeof EMPTY_ARRAY

const NUMBER_NAN = 0x00
const NUMBER_NEGATIVE = 0x10
const NUMBER_ZERO = 0x20
const NUMBER_POSITIVE = 0x30
const EXPONENT_BIAS = 0x4000

let scratch = Buffer.allocUnsafe(4096)
let end = 0

/** The key of one value; inverted for a descending component. */
export function encodeKey(value: KeyValue, descending = false): Buffer {
  end = 0
  writeValue(value)
  if (descending) invert(0)
  return written()
}

/** The keys of the components of an index entry, one after the other. */
export function encodeComponents(
  values: readonly KeyValue[],
  fields: readonly { readonly descending: boolean }[],
): Buffer {
  end = 0
  for (let i = 0; i < values.length; i++) {
    const start = end
    writeValue(values[i]!)
    if (fields[i]!.descending) invert(start)
  }
  return written()
}

function written(): Buffer {
  const key = Buffer.allocUnsafe(end)
  // Keys are so short that this is faster than a call of `copy`.
  for (let i = 0; i < end; i++) key[i] = scratch[i]!
  return key
}

/** The key as a string, equal for equal values: for maps and sets. */
export function keyText(value: KeyValue): string {
  end = 0
  writeValue(value)
  return scratch.toString('latin1', 0, end)
}

function reserve(bytes: number): void {
  if (end + bytes <= scratch.length) return
  const larger = Buffer.allocUnsafe(Math.max(scratch.length * 2, end + bytes))
  scratch.copy(larger, 0, 0, end)
  scratch = larger
}

function writeByte(byte: number): void {
  reserve(1)
  scratch[end++] = byte
}

function writeBytes(bytes: Uint8Array): void {
  reserve(bytes.length)
  scratch.set(bytes, end)
  end += bytes.length
}

function invert(from: number): void {
  for (let i = from; i < end; i++) scratch[i] = ~scratch[i]! & 0xff
}

function writeValue(value: KeyValue): void {
  if (value === EMPTY_ARRAY) {
    writeByte(TYPE_CLASS.nothing)
    return
  }
  const kind = typeClass(value)
  writeByte(kind)
  writePayload(kind, value)
}

function writePayload(kind: number, value: Value): void {
  switch (kind) {
    case TYPE_CLASS.number:
      if (isNumeric(value)) writeNumber(value)
      return
    case TYPE_CLASS.string:
      writeText(String(value))
      return
    case TYPE_CLASS.object:
      writeDoc(asDoc(value) ?? {})
      return
    case TYPE_CLASS.array:
      for (const element of value as Value[]) writeValue(element)
      writeByte(0)
      return
    case TYPE_CLASS.binary:
      writeBinary(value as Binary)
      return
    case TYPE_CLASS.objectId:
      writeBytes((value as ObjectId).id)
      return
    case TYPE_CLASS.boolean:
      writeByte(value ? 1 : 0)
      return
    case TYPE_CLASS.date:
      writeInt64(BigInt((value as Date).getTime()) ^ (1n << 63n))
      return
    case TYPE_CLASS.timestamp:
      writeInt64((value as Timestamp).toBigInt())
      return
    case TYPE_CLASS.regex:
      writeText((value as BSONRegExp).pattern)
      writeText((value as BSONRegExp).options)
      return
    case TYPE_CLASS.code:
    case TYPE_CLASS.codeWithScope:
      writeText((value as Code).code)
      writeDoc(((value as Code).scope ?? {}) as Doc)
      return
    default:
      return
  }
}

function writeInt64(value: bigint): void {
  reserve(8)
  scratch.writeBigUInt64BE(BigInt.asUintN(64, value), end)
  end += 8
}

function writeText(text: string): void {
  reserve(text.length * 3 + 1)
  const start = end
  const written = scratch.write(text, end, 'utf8')
  end += written
  if (text.includes('\0') || text.includes('\u0001')) escapeLowest(start)
  writeByte(0)
}

/** The terminator never occurs inside a string, so no string is a prefix of another. */
function escapeLowest(start: number): void {
  const plain = Buffer.from(scratch.subarray(start, end))
  end = start
  for (const byte of plain) {
    if (byte > 1) writeByte(byte)
    else writeBytes(Buffer.from([1, byte + 1]))
  }
}

function writeDoc(doc: Doc): void {
  for (const name of Object.keys(doc)) {
    const kind = typeClass(doc[name])
    writeByte(kind)
    writeText(name)
    writePayload(kind, doc[name])
  }
  writeByte(0)
}

function writeBinary(value: Binary): void {
  reserve(5)
  end = scratch.writeUInt32BE(value.position, end)
  writeByte(value.sub_type)
  writeBytes(value.value())
}

function writeNumber(value: Numeric): void {
  const approximate = toNumber(value)
  if (Number.isNaN(approximate)) {
    writeByte(NUMBER_NAN)
    return
  }
  // Numbers that a double represents exactly are by far the most frequent and need no exact
  // arithmetic.
  const isSmall = value._bsontype !== 'Decimal128' && Number.isSafeInteger(approximate)
  const exact = isSmall || value._bsontype === 'Double' ? approximate : exactOf(value)
  if (typeof exact === 'number') {
    writeMagnitude(Math.sign(exact), Math.abs(exact), undefined)
    return
  }
  const sign = exact.coefficient === 0n ? 0 : exact.coefficient < 0n ? -1 : 1
  const magnitude = sign < 0 ? { ...exact, coefficient: -exact.coefficient } : exact
  const floor = floorDouble(Math.abs(approximate), magnitude)
  writeMagnitude(sign, floor, subtractExact(magnitude, exactOfDouble(floor) as ExactNumber))
}

/** The largest finite double that is not greater than the exact value. */
function floorDouble(nearest: number, exact: ExactNumber): number {
  if (!Number.isFinite(nearest)) return Number.MAX_VALUE
  if (compareExact(exactOfDouble(nearest), exact) <= 0) return nearest
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, nearest)
  view.setBigUint64(0, view.getBigUint64(0) - 1n)
  return view.getFloat64(0)
}

function writeMagnitude(sign: number, floor: number, rest: ExactNumber | undefined): void {
  if (sign === 0) {
    writeByte(NUMBER_ZERO)
    return
  }
  writeByte(sign < 0 ? NUMBER_NEGATIVE : NUMBER_POSITIVE)
  const start = end
  reserve(8)
  end = scratch.writeDoubleBE(floor, end)
  if (!rest || rest.coefficient === 0n) writeByte(0)
  else writeRest(rest)
  if (sign < 0) invert(start)
}

function writeRest(rest: ExactNumber): void {
  const digits = rest.coefficient.toString()
  writeByte(1)
  reserve(2)
  end = scratch.writeUInt16BE(rest.exponent + digits.length + EXPONENT_BIAS, end)
  writeBytes(Buffer.from(digits.replace(/0+$/, ''), 'latin1'))
  writeByte(0)
}
