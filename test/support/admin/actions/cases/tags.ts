/** Tags of values and of expectations in case files, and variables. */

import { expect } from 'vitest'
import type { CollectionTag, ScalarTag, YAMLMap, YAMLSeq } from 'yaml'
import { ObjectId } from '../../../../../src/catalog/collections.ts'

export type Variables = Map<string, unknown>

/** A tagged value of a case file. */
export class Tagged {
  readonly tag: string
  readonly value: unknown

  constructor(tag: string, value: unknown) {
    this.tag = tag
    this.value = value
  }
}

/** Values: what is sent or stored. */
const VALUES: Readonly<Record<string, (value: never) => unknown>> = {
  none: () => undefined,
  date: (text: string) => new Date(text),
  id: (text: string) => new ObjectId(text),
  json: (value: unknown) => JSON.stringify(value),
  times: ([count, value]: [number, unknown]) => Array.from({ length: count }, () => value),
  chars: ([count, text]: [number, string]) => text.repeat(count),
  joined: ([first, last]: [number, number]) => numbers(first, last).join(),
  range: ([first, last]: [number, number]) => numbers(first, last),
}

function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

type Check = (actual: unknown) => void
const sizeOf = (actual: unknown) => Object.keys(Object(actual)).length

/** Expectations: what an answer or a document has in a place. */
const EXPECTATIONS: Readonly<Record<string, (value: never) => Check>> = {
  any: () => (actual) => expect(actual).toBeDefined(),
  re: (text: string) => (actual) => expect(actual).toMatch(new RegExp(text)),
  has: (text: string) => (actual) => expect(actual).toContain(text),
  lacks: (text: unknown) => (actual) => expect(actual).not.toContain(text),
  exact: (value: unknown) => (actual) => expect(actual).toEqual(value),
  size: (count: number) => (actual) => expect(sizeOf(actual)).toBe(Number(count)),
  above: (limit: number) => (actual) => expect(actual).toBeGreaterThan(Number(limit)),
  // The keys of the object are not known.
  values: (value: unknown[]) => (actual) => requireMatch(Object.values(actual as object), value),
  unordered: (values: unknown[]) => (actual) => {
    expect(actual).toHaveLength(values.length)
    for (const value of values) expect(actual).toContainEqual(likeness(value))
  },
  // So many members that are alike.
  every: (of: [number, unknown]) => (actual) =>
    requireMatch(actual, VALUES['times']?.(of as never)),
  some: (value: unknown) => (actual) => expect(actual).toContainEqual(likeness(value)),
  all: (values: unknown[]) => (actual) => {
    for (const value of values) requireMatch({ actual }, { actual: value })
  },
  first: (value: object) => (actual) => requireMatch(Object.values(actual as object)[0], value),
  last: (value: object) => (actual) => requireMatch(Object.values(actual as object).at(-1), value),
}

/** `!as name` keeps what is found in a variable; where the variable is known, it compares. */
const CAPTURE = 'as'
const TAGS = [CAPTURE, ...Object.keys(VALUES), ...Object.keys(EXPECTATIONS)]

export const CUSTOM_TAGS: (ScalarTag | CollectionTag)[] = TAGS.flatMap((name) => {
  const tag = `!${name}`
  const collection = (node: YAMLMap | YAMLSeq) => new Tagged(name, node.toJSON())
  return [
    { tag, resolve: (text: string) => new Tagged(name, text) },
    { tag, collection: 'map', resolve: (node) => collection(node as YAMLMap) },
    { tag, collection: 'seq', resolve: (node) => collection(node as YAMLSeq) },
  ] satisfies (ScalarTag | CollectionTag)[]
})

/** Expectations as vitest compares and prints them. */
function matcher(shown: string, check: Check): object {
  return {
    $$typeof: Symbol.for('jest.asymmetricMatcher'),
    asymmetricMatch(actual: unknown) {
      try {
        check(actual)
        return true
      } catch {
        return false
      }
    },
    toString: () => shown,
    toAsymmetricMatcher: () => shown,
  }
}

/** Members of the value, or of each in a list, belong to the object around it. */
const SPREAD = '...'

/** A value with its variables; its tags become values, or expectations. */
export function filled(value: unknown, variables: Variables): unknown {
  if (typeof value === 'string') return filledText(value, variables)
  if (Array.isArray(value)) return value.map((each) => filled(each, variables))
  if (value instanceof Tagged) return filledTag(value, variables)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([key, written]) => {
    const inner = filled(written, variables)
    if (key !== SPREAD) return [[filledText(key, variables), inner]]
    return [inner].flat().flatMap((each) => Object.entries(each as object))
  })
  return Object.fromEntries(entries)
}

function filledText(text: string, variables: Variables): unknown {
  const [, name = ''] = /^\$(\w+)$/.exec(text) ?? []
  // Values of a row are written, and so have tags and variables.
  if (/^\d$/.test(name)) return filled(variables.get(name), variables)
  if (variables.has(name)) return variables.get(name)
  return text.replace(/\$\{(\w+)\}/g, (whole, each: string) =>
    variables.has(each) ? String(variables.get(each)) : whole,
  )
}

function filledTag({ tag, value }: Tagged, variables: Variables): unknown {
  if (tag === CAPTURE) return capture(String(value), variables)
  const inner = filled(value, variables)
  const made = VALUES[tag]
  if (made !== undefined) return made(inner as never)
  const expectation = EXPECTATIONS[tag]
  if (expectation === undefined) throw new Error(`unknown tag !${tag}`)
  return matcher(`!${tag} ${JSON.stringify(inner)}`, expectation(inner as never))
}

function capture(name: string, variables: Variables): object {
  return matcher(`!as ${name}`, (actual) => {
    expect(actual).toBeDefined()
    if (!variables.has(name)) variables.set(name, actual)
    expect(actual).toEqual(variables.get(name))
  })
}

/** An expectation that matches a value as `requireMatch` does. */
function likeness(value: unknown): object {
  return matcher(JSON.stringify(value), (actual) => requireMatch(actual, value))
}

/** Compares; a member that is expected to be undefined must be absent. */
export function requireMatch(actual: unknown, expected: unknown, where = ''): void {
  expect(actual, where).toMatchObject(withoutAbsent(expected) as object)
}

/** Objects with members that must be absent become expectations of their own. */
function withoutAbsent(expected: unknown): unknown {
  if (Array.isArray(expected)) return expected.map(withoutAbsent)
  if (!isPlain(expected)) return expected
  const entries = Object.entries(expected)
  const kept = Object.fromEntries(
    entries
      .filter(([, each]) => each !== undefined)
      .map(([key, each]) => [key, withoutAbsent(each)]),
  )
  const absent = entries.filter(([, each]) => each === undefined).map(([key]) => key)
  if (absent.length === 0) return kept
  return matcher(`${JSON.stringify(kept)} without ${absent.join(', ')}`, (actual) => {
    for (const key of absent) expect(actual).not.toHaveProperty([key])
    expect(actual).toMatchObject(kept)
  })
}

function isPlain(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    !('asymmetricMatch' in value)
  )
}
