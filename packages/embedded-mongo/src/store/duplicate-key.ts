import { Binary, Decimal128, Long, ObjectId } from 'bson'
import { type OperationRefusal, refuse } from '../errors.ts'
import { asDoc, type Doc, isArray, type Value } from '../values/document.ts'
import { EMPTY_ARRAY, encodeKey } from '../values/key-encoding.ts'
import { pathValues } from '../values/path.ts'
import type { Index } from './catalog.ts'

/**
 * MongoDB's error for a key that another document already has. Of the document only the fields of
 * the index are used.
 */
export function duplicateKey(ns: string, index: Index, key: Buffer, doc: Doc): OperationRefusal {
  const keyValue: Doc = {}
  let rest = key
  for (const { path, parts, descending } of index.fields) {
    // For an array, find the element whose bytes are the beginning of the key.
    for (const value of pathValues(doc, parts).values) {
      const bytes = encodeKey(value, descending)
      if (!bytes.equals(rest.subarray(0, bytes.length))) continue
      rest = rest.subarray(bytes.length)
      keyValue[path] = value === EMPTY_ARRAY ? null : value
      break
    }
  }
  const text = Object.entries(keyValue).map(([name, value]) => `${name}: ${describe(value)}`)
  return refuse(
    'DuplicateKey',
    `E11000 duplicate key error collection: ${ns} index: ${index.name} ` +
      `dup key: { ${text.join(', ')} }`,
    { keyPattern: index.key, keyValue },
  )
}

/** Formats a value as in MongoDB's messages. */
function describe(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof ObjectId) return `ObjectId('${value.toHexString()}')`
  if (value instanceof Date) return `new Date(${value.getTime()})`
  if (value instanceof Binary) {
    return `BinData(${value.sub_type}, ${value.toString('hex').toUpperCase()})`
  }
  if (value instanceof Decimal128 || value instanceof Long) return value.toString()
  if (isArray(value)) return `[ ${value.map(describe).join(', ')} ]`
  const doc = asDoc(value)
  if (!doc) return String(value)
  const fields = Object.entries(doc).map(([name, inner]) => `${name}: ${describe(inner)}`)
  return `{ ${fields.join(', ')} }`
}
