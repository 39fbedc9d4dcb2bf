import { asDoc, type Doc, fieldOf, isArray, type Value } from './document.ts'
import { EMPTY_ARRAY, type KeyValue } from './key-encoding.ts'
import { arrayIndex } from './path.ts'

/** State of the traversal of a path: at its end, or at an array with the remaining parts. */
type PathState =
  | { readonly end: KeyValue }
  | { readonly array: readonly Value[]; readonly rest: readonly string[] }

/**
 * The combined values at several paths, one tuple for each element of the arrays on the paths: `{
 * l: [{ a: 1, b: 2 }, { a: 3 }] }` has the tuples (1, 2) and (3, null) at `l.a` and `l.b`.
 * Undefined if two paths lead into different arrays.
 */
export function tuplesAt(
  doc: Doc,
  paths: readonly (readonly string[])[],
): KeyValue[][] | undefined {
  return expand(paths.map((parts) => walkDoc(doc, parts)))
}

function expand(states: readonly PathState[]): KeyValue[][] | undefined {
  const found = new Set(states.flatMap((state) => ('array' in state ? [state.array] : [])))
  const [array, ...others] = found
  if (others.length > 0) return undefined
  if (!array) return [states.map((state) => ('end' in state ? state.end : null))]
  const elements: readonly KeyValue[] = array.length > 0 ? array : [EMPTY_ARRAY]
  const tuples: KeyValue[][] = []
  for (const element of elements) {
    const next = expand(
      states.map((state) => ('array' in state ? walkElement(element, state.rest) : state)),
    )
    if (!next) return undefined
    tuples.push(...next)
  }
  return tuples
}

function walkElement(element: KeyValue, rest: readonly string[]): PathState {
  // A nested array is a value here and has no fields.
  if (rest.length === 0) return { end: element }
  const inner = element === EMPTY_ARRAY ? undefined : asDoc(element)
  return inner ? walkDoc(inner, rest) : { end: null }
}

function walkDoc(doc: Doc, parts: readonly string[]): PathState {
  const value = fieldOf(doc, parts[0]!)
  return walk(value, parts.slice(1))
}

function walk(value: Value, rest: readonly string[]): PathState {
  if (isArray(value)) return walkArray(value, rest)
  if (rest.length === 0) return { end: value === undefined ? null : value }
  const inner = asDoc(value)
  return inner ? walkDoc(inner, rest) : { end: null }
}

/** A number in the path is an array index if that element exists. */
function walkArray(array: readonly Value[], rest: readonly string[]): PathState {
  const index = rest[0] === undefined ? undefined : arrayIndex(rest[0])
  if (index === undefined || index >= array.length) return { array, rest }
  return walk(array[index], rest.slice(1))
}
