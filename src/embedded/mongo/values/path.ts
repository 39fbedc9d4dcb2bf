import { asDoc, type Doc, fieldOf, isArray, type Value } from './document.ts'
import { EMPTY_ARRAY, type KeyValue } from './key-encoding.ts'

const ARRAY_INDEX = /^(0|[1-9]\d*)$/

/** The position that a part of a path names, if it names one. */
export function arrayIndex(part: string): number | undefined {
  return ARRAY_INDEX.test(part) ? Number(part) : undefined
}

/** Called with each value at a path; true ends the walk. `undefined` is a missing field. */
export type Visit = (value: Value) => boolean

/**
 * Visits what a query compares at a path: arrays on the way are walked through, one level each. An
 * array at the end is visited whole; its elements are the visitor's affair. Elements of an array
 * on the way that are no documents have no such field and are not visited.
 * @returns whether the visitor ended the walk
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
  // A number in the path is a position here; as a field name it counts only where it exists.
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

/** What a document has at a path, for index keys and sort keys. */
export type PathValues = {
  /** Elements of an array one by one; null for a missing field; `EMPTY_ARRAY` for an empty one. */
  readonly values: KeyValue[]
  /** The first part of the path that led to an array, as a path; undefined if none did. */
  arrayPath: string | undefined
  /** Whether no field was found at all. */
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
