import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  DBRef,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'bson'
import { asDoc, type Doc, type Value } from './document.ts'
import { compareNumeric, isNumeric, toNumber } from './numeric.ts'

/**
 * Type classes in BSON comparison order. Values of one class compare by value, others by class. The
 * numbers are also the type bytes of index keys and therefore part of the stored format.
 */
export const TYPE_CLASS = {
  minKey: 0x05,
  /** An empty array in an index or sort key: less than null. */
  nothing: 0x08,
  null: 0x10,
  number: 0x20,
  string: 0x30,
  object: 0x40,
  array: 0x48,
  binary: 0x50,
  objectId: 0x58,
  boolean: 0x60,
  date: 0x68,
  timestamp: 0x70,
  regex: 0x78,
  code: 0x80,
  codeWithScope: 0x88,
  maxKey: 0xf0,
} as const

export function typeClass(value: Value): number {
  if (value === null || value === undefined) return TYPE_CLASS.null
  if (typeof value === 'string' || value instanceof BSONSymbol) return TYPE_CLASS.string
  if (typeof value === 'boolean') return TYPE_CLASS.boolean
  if (isNumeric(value)) return TYPE_CLASS.number
  if (Array.isArray(value)) return TYPE_CLASS.array
  if (value instanceof Date) return TYPE_CLASS.date
  if (value instanceof ObjectId) return TYPE_CLASS.objectId
  if (value instanceof Binary) return TYPE_CLASS.binary
  if (value instanceof Timestamp) return TYPE_CLASS.timestamp
  if (value instanceof BSONRegExp) return TYPE_CLASS.regex
  if (value instanceof Code) return value.scope ? TYPE_CLASS.codeWithScope : TYPE_CLASS.code
  if (value instanceof MinKey) return TYPE_CLASS.minKey
  return value instanceof MaxKey ? TYPE_CLASS.maxKey : TYPE_CLASS.object
}

/** Compares two values as MongoDB does: by class, then within the class. */
export function compareValues(a: Value, b: Value): number {
  const kind = typeClass(a)
  const difference = kind - typeClass(b)
  if (difference !== 0) return difference
  return compareWithin(kind, a, b)
}

export function equalValues(a: Value, b: Value): boolean {
  return compareValues(a, b) === 0
}

function compareWithin(kind: number, a: Value, b: Value): number {
  switch (kind) {
    case TYPE_CLASS.number:
      return isNumeric(a) && isNumeric(b) ? compareNumeric(a, b) : 0
    case TYPE_CLASS.string:
      return compareText(String(a), String(b))
    case TYPE_CLASS.boolean:
      return Number(a) - Number(b)
    case TYPE_CLASS.date:
      return (a as Date).getTime() - (b as Date).getTime()
    case TYPE_CLASS.objectId:
      return Buffer.compare((a as ObjectId).id, (b as ObjectId).id)
    case TYPE_CLASS.array:
      return compareArrays(a as Value[], b as Value[])
    case TYPE_CLASS.object:
      return compareDocs(asDoc(a) ?? {}, asDoc(b) ?? {})
    case TYPE_CLASS.binary:
      return compareBinary(a as Binary, b as Binary)
    case TYPE_CLASS.timestamp:
      return (a as Timestamp).compare(b as Timestamp)
    case TYPE_CLASS.regex:
      return compareRegex(a as BSONRegExp, b as BSONRegExp)
    case TYPE_CLASS.code:
    case TYPE_CLASS.codeWithScope:
      return compareCode(a as Code, b as Code)
    default:
      return 0
  }
}

/** Compares by code points, as UTF-8 bytes do; JavaScript compares UTF-16 units. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    // Surrogates represent code points above those of a single unit.
    const surrogateX = x >= 0xd800 && x <= 0xdfff
    const surrogateY = y >= 0xd800 && y <= 0xdfff
    if (surrogateX !== surrogateY) return surrogateX ? 1 : -1
    return x - y
  }
  return a.length - b.length
}

function compareArrays(a: readonly Value[], b: readonly Value[]): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const order = compareValues(a[i], b[i])
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** Compares field by field in stored order: class of the value, name, value. */
function compareDocs(a: Doc, b: Doc): number {
  const namesA = Object.keys(a)
  const namesB = Object.keys(b)
  const length = Math.min(namesA.length, namesB.length)
  for (let i = 0; i < length; i++) {
    const nameA = namesA[i]!
    const nameB = namesB[i]!
    const kind = typeClass(a[nameA])
    const order =
      kind - typeClass(b[nameB]) ||
      compareText(nameA, nameB) ||
      compareWithin(kind, a[nameA], b[nameB])
    if (order !== 0) return order
  }
  return namesA.length - namesB.length
}

function compareBinary(a: Binary, b: Binary): number {
  return a.position - b.position || a.sub_type - b.sub_type || Buffer.compare(a.value(), b.value())
}

function compareRegex(a: BSONRegExp, b: BSONRegExp): number {
  return compareText(a.pattern, b.pattern) || compareText(a.options, b.options)
}

function compareCode(a: Code, b: Code): number {
  return compareText(a.code, b.code) || compareDocs((a.scope ?? {}) as Doc, (b.scope ?? {}) as Doc)
}

/** Truth value of an expression: null, missing, false and zero are false. */
export function isTruthy(value: Value): boolean {
  if (value === null || value === undefined || value === false) return false
  return !(isNumeric(value) && toNumber(value) === 0)
}

/** Type names as in `$type` and MongoDB's messages. */
export function typeName(value: Value): string {
  if (value === null) return 'null'
  if (value === undefined) return 'missing'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'date'
  if (value instanceof DBRef) return 'object'
  const bsonType = (value as { _bsontype?: string })._bsontype
  return (bsonType && CLASS_NAMES[bsonType]) || 'object'
}

const CLASS_NAMES: Readonly<Record<string, string>> = {
  Int32: 'int',
  Long: 'long',
  Double: 'double',
  Decimal128: 'decimal',
  ObjectId: 'objectId',
  Binary: 'binData',
  Timestamp: 'timestamp',
  BSONRegExp: 'regex',
  BSONSymbol: 'symbol',
  Code: 'javascript',
  MinKey: 'minKey',
  MaxKey: 'maxKey',
}
