import { asDoc, type Doc, fieldOf, isArray, type Value } from './document.ts'
import { EMPTY_ARRAY, type KeyValue } from './key-encoding.ts'

const ARRAY_INDEX = /^(0|[1-9]\d*)$/

/** The array index that a part of a path names; undefined if it is not one. */
export function arrayIndex(part: string): number | undefined {
  return ARRAY_INDEX.test(part) ? Number(part) : undefined
}

/**
 * Called with each value at a path, undefined for a missing field; returning true ends the
 * traversal.
 */
export type Visit = (value: Value) => boolean

/**
 * Visits the values that a query compares at a path. Arrays on the path are traversed, one level
 * each. An array at the end is passed as a whole; the visitor handles its elements. Elements of an
 * array on the path that are not documents are not visited.
 * @returns whether the visitor ended the traversal
 */
export function visitPath(doc: Doc, parts: readonly string[], visit: Visit): boolean {
  return visitFrom(doc, parts, 0, visit)
}

function visitFrom(doc: Doc, parts: readonly string[], from: number, visit: Visit): boolean {
  const value = fieldOf(doc, parts[from]!)
  const next = from + 1
  if (next === parts.length) return visit(value)
  if (isArray(value)) return visitArray(value, parts, next, visit)
  const inner = asDoc(value)
  return inner ? visitFrom(inner, parts, next, visit) : visit(undefined)
}

function visitArray(
  array: readonly Value[],
  parts: readonly string[],
  from: number,
  visit: Visit,
): boolean {
  const index = arrayIndex(parts[from]!)
  if (index !== undefined && index < array.length) {
    if (visitElement(array[index], parts, from + 1, visit)) return true
  }
  // A number in the path is an array index here; as a field name it only matches existing fields.
  const visitNamed: Visit = (value) => value !== undefined && visit(value)
  for (const element of array) {
    const inner = asDoc(element)
    if (!inner) continue
    if (visitFrom(inner, parts, from, index === undefined ? visit : visitNamed)) return true
  }
  return false
}

function visitElement(
  element: Value,
  parts: readonly string[],
  from: number,
  visit: Visit,
): boolean {
  if (from === parts.length) return visit(element)
  if (isArray(element)) return visitArray(element, parts, from, visit)
  const inner = asDoc(element)
  return inner ? visitFrom(inner, parts, from, visit) : visit(undefined)
}

/** The values of a document at a path, for index keys and sort keys. */
export type PathValues = {
  /** The elements of an array; null for a missing field; `EMPTY_ARRAY` for an empty array. */
  readonly values: KeyValue[]
  /** The shortest part of the path that led to an array; undefined if it crosses no array. */
  arrayPath: string | undefined
  /** Whether no field was found. */
  missing: boolean
}

export function pathValues(doc: Doc, parts: readonly string[]): PathValues {
  const found: PathValues = { values: [], arrayPath: undefined, missing: true }
  collect(doc, parts, 0, found)
  return found
}

function collect(doc: Doc, parts: readonly string[], from: number, found: PathValues): void {
  const value = fieldOf(doc, parts[from]!)
  const next = from + 1
  if (isArray(value)) {
    found.arrayPath ??= parts.slice(0, next).join('.')
    collectArray(value, parts, next, found)
    return
  }
  if (next === parts.length) {
    if (value !== undefined) found.missing = false
    found.values.push(value === undefined ? null : value)
    return
  }
  const inner = asDoc(value)
  if (inner) collect(inner, parts, next, found)
  else found.values.push(null)
}

function collectArray(
  array: readonly Value[],
  parts: readonly string[],
  from: number,
  found: PathValues,
): void {
  if (from === parts.length) {
    found.missing = false
    if (array.length === 0) found.values.push(EMPTY_ARRAY)
    for (const element of array) found.values.push(element)
    return
  }
  const index = arrayIndex(parts[from]!)
  if (index !== undefined && index < array.length) {
    collectElement(array[index], parts, from + 1, found)
    return
  }
  for (const element of array) {
    const inner = asDoc(element)
    if (inner) collect(inner, parts, from, found)
    else found.values.push(null)
  }
  if (array.length === 0) found.values.push(null)
}

function collectElement(
  element: Value,
  parts: readonly string[],
  from: number,
  found: PathValues,
): void {
  if (isArray(element)) {
    collectArray(element, parts, from, found)
    return
  }
  if (from === parts.length) {
    found.missing = false
    found.values.push(element)
    return
  }
  const inner = asDoc(element)
  if (inner) collect(inner, parts, from, found)
  else found.values.push(null)
}
