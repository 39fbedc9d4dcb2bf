import { isUtf8 } from 'node:buffer'
import { BSON_TYPE, int32At } from './bson-bytes.ts'

/** Nesting up to which a document is plain. */
const DEPTH_MAX = 64
/** Slots for the names of a document; it is plain with at most half as many names. */
const SLOTS = 4096
/** Maximum distance of a date from 1970 that JavaScript represents. */
const DATE_MS_MAX = 8.64e15
const DOLLAR = 0x24
const UNDERSCORE = 0x5f
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
/** Length of `__proto__` and of `_bsontype`, names with a meaning in JavaScript and in `bson`. */
const SPECIAL_NAME_BYTES = 9

const hashes = new Int32Array(SLOTS)
/** Number of the check that has used a slot. */
const usedBy = new Float64Array(SLOTS)
let check = 0
let names = 0

/**
 * Whether the bytes are a plain document: valid BSON, which `decode` accepts and of which `encode`
 * makes the same bytes again. No name occurs twice, is a number or begins with `$`; types that
 * are rare in stored documents are not plain. A document that is not plain is decoded by its user.
 */
export function isPlain(bytes: Buffer): boolean {
  return bytes.length >= 5 && int32At(bytes, 0) === bytes.length && endOfPlain(bytes) >= 0
}

function endOfPlain(bytes: Buffer): number {
  check += 1
  names = 0
  return containerEnd(bytes, 0, bytes.length, false, 0)
}

/** End of a plain value; -1 if it is not plain or not below `limit`. */
export function plainValueEnd(bytes: Buffer, type: number, at: number, limit: number): number {
  check += 1
  names = 0
  return elementEnd(bytes, type, at, limit, 0)
}

/** End of the document or array at `start`; -1 if it is not plain. */
function containerEnd(
  bytes: Buffer,
  start: number,
  limit: number,
  isArray: boolean,
  depth: number,
): number {
  const length = start + 5 <= limit ? int32At(bytes, start) : 0
  const end = start + length
  if (length < 5 || end > limit || depth > DEPTH_MAX) return -1
  const last = end - 1
  let at = start + 4
  for (let index = 0; ; index++) {
    const type = bytes[at++]!
    if (type === 0) return at === end ? end : -1
    const nameEnd = isArray ? indexEnd(bytes, at, last, index) : nameEndAt(bytes, at, last, start)
    if (nameEnd < 0) return -1
    at = elementEnd(bytes, type, nameEnd + 1, last, depth)
    if (at < 0) return -1
  }
}

/** End of a name that is the given index in decimal digits; -1 if it is another one. */
function indexEnd(bytes: Buffer, from: number, last: number, index: number): number {
  let at = from
  let value = 0
  for (; at < last && bytes[at] !== 0; at++) {
    const digit = bytes[at]! - DIGIT_0
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  const isShortest = at === from + 1 || (at > from && bytes[from] !== DIGIT_0)
  return at < last && isShortest && value === index ? at : -1
}

/** End of the name of a field; -1 if it is not plain or occurs twice in the container. */
function nameEndAt(bytes: Buffer, from: number, last: number, container: number): number {
  let at = from
  let hash = Math.imul(container + 1, 0x9e3779b1)
  let highest = 0
  let isNumber = true
  for (let byte = bytes[at]!; byte !== 0; byte = bytes[at]!) {
    if (byte < DIGIT_0 || byte > DIGIT_9) isNumber = false
    highest |= byte
    hash = (Math.imul(hash, 31) + byte) | 0
    if (++at >= last) return -1
  }
  const length = at - from
  const first = bytes[from]
  if (first === DOLLAR || (isNumber && length > 0)) return -1
  if (first === UNDERSCORE && length === SPECIAL_NAME_BYTES) return -1
  if (highest > 0x7f && !isUtf8(bytes.subarray(from, at))) return -1
  return isNew(hash) ? at : -1
}

/** Equal hashes of different names are very rare, and then only cost time. */
function isNew(hash: number): boolean {
  names += 1
  if (names > SLOTS / 2) return false
  let at = (hash ^ (hash >>> 15)) & (SLOTS - 1)
  while (usedBy[at] === check) {
    if (hashes[at] === hash) return false
    at = (at + 1) & (SLOTS - 1)
  }
  usedBy[at] = check
  hashes[at] = hash
  return true
}

function elementEnd(bytes: Buffer, type: number, at: number, last: number, depth: number): number {
  switch (type) {
    case BSON_TYPE.string:
      return textEnd(bytes, at, last)
    case BSON_TYPE.object:
      return containerEnd(bytes, at, last, false, depth + 1)
    case BSON_TYPE.array:
      return containerEnd(bytes, at, last, true, depth + 1)
    case BSON_TYPE.double:
      return at + 8 <= last && isFinite64(bytes, at) ? at + 8 : -1
    case BSON_TYPE.date:
      return at + 8 <= last && isDate(bytes, at) ? at + 8 : -1
    case BSON_TYPE.boolean:
      return at < last && bytes[at]! <= 1 ? at + 1 : -1
    case BSON_TYPE.binary:
      return binaryEnd(bytes, at, last)
    default:
      return fixedEnd(type, at, last)
  }
}

function fixedEnd(type: number, at: number, last: number): number {
  let end = -1
  if (type === BSON_TYPE.null) end = at
  else if (type === BSON_TYPE.int32) end = at + 4
  else if (type === BSON_TYPE.int64 || type === BSON_TYPE.timestamp) end = at + 8
  else if (type === BSON_TYPE.objectId) end = at + 12
  else if (type === BSON_TYPE.decimal) end = at + 16
  return end <= last ? end : -1
}

function textEnd(bytes: Buffer, at: number, last: number): number {
  const length = at + 4 <= last ? int32At(bytes, at) : 0
  const start = at + 4
  const end = start + length
  if (length < 1 || end > last || bytes[end - 1] !== 0) return -1
  for (let i = start; i < end; i++) {
    if (bytes[i]! > 0x7f) return isUtf8(bytes.subarray(start, end - 1)) ? end : -1
  }
  return end
}

function isFinite64(bytes: Buffer, at: number): boolean {
  return (bytes[at + 7]! & 0x7f) !== 0x7f || (bytes[at + 6]! & 0xf0) !== 0xf0
}

function isDate(bytes: Buffer, at: number): boolean {
  const ms = int32At(bytes, at + 4) * 2 ** 32 + (int32At(bytes, at) >>> 0)
  return Math.abs(ms) <= DATE_MS_MAX
}

/** Only generic bytes and UUIDs: `bson` checks or rewrites some of the other subtypes. */
function binaryEnd(bytes: Buffer, at: number, last: number): number {
  const length = at + 5 <= last ? int32At(bytes, at) : -1
  const subtype = bytes[at + 4]
  if (length < 0 || at + 5 + length > last) return -1
  return subtype === 0 || (subtype === 4 && length === 16) ? at + 5 + length : -1
}
