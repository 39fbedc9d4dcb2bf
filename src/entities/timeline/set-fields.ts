/** Applies field changes to a document. Pure. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Fields } from '../../domain/fields.ts'

/** Members to append to a list or to remove from it. */
export interface ListChange {
  field: string
  values: readonly unknown[]
  /** For `pull`: the part of a member to compare; absent to compare the whole member. */
  by?: string
}

export interface FieldChanges {
  /** A dotted name sets only that part. */
  set: Fields
  push: readonly ListChange[]
  pull: readonly ListChange[]
}

/** Returns a changed copy of the document. */
export function withChanges(document: RawDocument, changes: FieldChanges): RawDocument {
  let result: Fields = document
  for (const [name, value] of Object.entries(changes.set)) {
    result = withValue(result, name.split('.'), value)
  }
  for (const { field, values, by } of changes.pull) {
    const path = field.split('.')
    const remaining = listAt(result, path).filter((member) => !isPulled(member, values, by))
    result = withValue(result, path, remaining)
  }
  for (const { field, values } of changes.push) {
    const path = field.split('.')
    result = withValue(result, path, [...listAt(result, path), ...values])
  }
  return result as RawDocument
}

export function valueAt(document: Fields, path: readonly string[]): unknown {
  let value: unknown = document
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Fields)[name]
  }
  return value
}

function withValue(document: Fields, path: readonly string[], value: unknown): Fields {
  const [name = '', ...rest] = path
  if (rest.length === 0) return { ...document, [name]: value }
  const inner = document[name]
  const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
  return { ...document, [name]: withValue(isObject ? (inner as Fields) : {}, rest, value) }
}

function listAt(document: Fields, path: readonly string[]): readonly unknown[] {
  const value = valueAt(document, path)
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

function isPulled(member: unknown, values: readonly unknown[], by: string | undefined): boolean {
  const compared = by === undefined ? member : valueAt((member ?? {}) as Fields, by.split('.'))
  return values.some((value) => isEqual(compared, value))
}

/** Deep equality of JSON values and dates, independent of the order of keys. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (a instanceof Date || b instanceof Date) {
    return a instanceof Date && b instanceof Date && a.getTime() === b.getTime()
  }
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [Object.entries(a), Object.entries(b)]
  if (left.length !== right.length) return false
  return left.every(
    ([name, value]) => Object.hasOwn(b, name) && isEqual(value, (b as Fields)[name]),
  )
}
