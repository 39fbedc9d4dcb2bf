/**
 * Paths of message fields: `a.b`, `a.0.b` (a list member), `a[key=value].b` (the first member whose
 * field `key` has that text), `a[key].b` (the first member with that field). Compiled once, not
 * interpreted per message.
 */
import { FieldError, isObject, isUnset, textAt } from '../domain/fields.ts'
import { textOf } from '../rating/match/compare.ts'
import { requestField } from '../rating/rule-names.ts'
import type { Message } from './file-type.ts'

/**
 * Scope of a lookup: the service's entry, then the message; both are the same for a single service.
 */
export interface Scope {
  readonly entry: Message
  readonly message: Message
}

export interface Path {
  /** As written, without the prefix `uf.` or `cf.`. */
  readonly name: string
  /** Fields of a record without which `in` returns undefined. */
  readonly heads: readonly string[]
  /** Reads the value from one record; undefined if it is absent or null. */
  readonly in: (record: Message) => unknown
  readonly read: (scope: Scope) => unknown
}

interface Step {
  name: string
  /** List index; -1 if the name is not a number. */
  index: number
  /** Whether every record inherits a property of this name, which is not part of the message. */
  isInherited: boolean
  selectors: readonly Selector[]
}

interface Selector {
  key: string
  /** Empty for any value. */
  value: string
  /** The number whose text it is; NaN for other texts. */
  number: number
}

const NAME = /[A-Za-z0-9_:@-]+/y
const SELECTOR = /\[([A-Za-z0-9_:@-]+)(?:=([^\]]+))?\]/y
const INDEX = /^\d{1,4}$/
const NOT_A_PATH = "must be the path of a field, such as a.b, a.0.b or a[key=value].b, is '"

/** Compiles the path in a field of a document. Throws `FieldError`. */
export function pathAt(value: unknown, path: string): Path {
  const compiled = compilePath(textAt(value, path))
  if (compiled === null) throw new FieldError(path, `${NOT_A_PATH}${value}'`)
  return compiled
}

/** Like `pathAt`, null if the field is absent or empty. */
export function optionalPathAt(value: unknown, path: string): Path | null {
  return isUnset(value) ? null : pathAt(value, path)
}

/** Compiles one or more paths; the first present field is used. */
export function firstPathAt(value: unknown, path: string): Path {
  const paths = pathsAt(value, path)
  const [first] = paths
  if (first === undefined) throw new FieldError(path, 'must have at least one field')
  if (paths.length === 1) return first
  return {
    name: first.name,
    heads: paths.flatMap(({ heads }) => heads),
    in: (record) => firstOf(paths, (each) => each.in(record)),
    read: (scope) => firstOf(paths, (each) => each.read(scope)),
  }
}

function firstOf(paths: readonly Path[], read: (path: Path) => unknown): unknown {
  for (const path of paths) {
    const value = read(path)
    if (value !== undefined) return value
  }
  return undefined
}

/** Compiles one path or a list of paths. */
export function pathsAt(value: unknown, path: string): readonly Path[] {
  if (!Array.isArray(value)) return [pathAt(value, path)]
  return value.map((member, index) => pathAt(member, `${path}.${index}`))
}

/** Null if the text is not a path. */
export function compilePath(text: string): Path | null {
  const name = requestField(text)
  const steps = stepsOf(name)
  if (steps === null) return null
  const [first, second] = steps as [Step, Step | undefined]
  const within = second === undefined ? singleReader(first) : nestedReader(name, steps)
  return {
    name,
    heads: second === undefined ? [first.name] : [first.name, name],
    in: within,
    read: ({ entry, message }) => {
      const own = within(entry)
      return own !== undefined || entry === message ? own : within(message)
    },
  }
}

function stepsOf(text: string): readonly Step[] | null {
  const steps: Step[] = []
  let at = 0
  while (true) {
    NAME.lastIndex = at
    const name = NAME.exec(text)?.[0]
    if (name === undefined) return null
    at += name.length
    const selectors: Selector[] = []
    while (text[at] === '[') {
      SELECTOR.lastIndex = at
      const [whole = '', key = '', value = ''] = SELECTOR.exec(text) ?? []
      if (whole === '') return null
      const number = String(Number(value)) === value ? Number(value) : Number.NaN
      selectors.push({ key, value, number })
      at += whole.length
    }
    const index = INDEX.test(name) ? Number(name) : -1
    steps.push({ name, index, isInherited: name in Object.prototype, selectors })
    if (at === text.length) return steps
    if (text[at] !== '.') return null
    at += 1
  }
}

function singleReader(step: Step): Path['in'] {
  const { name, isInherited, selectors } = step
  if (isInherited || selectors.length > 0) return (record) => descend(record, step) ?? undefined
  return (record) => record[name] ?? undefined
}

/** Follows the steps; otherwise looks up the whole path as one key, as in flat messages. */
function nestedReader(name: string, steps: readonly Step[]): Path['in'] {
  return (record) => {
    let value: unknown = record
    for (let at = 0; at < steps.length && value !== undefined; at += 1) {
      value = descend(value, steps[at] as Step)
    }
    return value ?? record[name] ?? undefined
  }
}

function descend(value: unknown, step: Step): unknown {
  let found: unknown
  if (!Array.isArray(value)) found = ownField(value, step)
  else found = step.index < 0 ? ownField(value[0], step) : value[step.index]
  if (found === undefined) return undefined
  for (const selector of step.selectors) found = select(found, selector)
  return found
}

function ownField(value: unknown, { name, isInherited }: Step): unknown {
  if (!isObject(value)) return undefined
  return isInherited && !Object.hasOwn(value, name) ? undefined : value[name]
}

function select(value: unknown, selector: Selector): unknown {
  if (!Array.isArray(value)) return isSelected(value, selector) ? value : undefined
  for (const member of value) if (isSelected(member, selector)) return member
  return undefined
}

function isSelected(member: unknown, { key, value, number }: Selector): boolean {
  if (!isObject(member) || !Object.hasOwn(member, key)) return false
  if (value === '') return true
  const given = member[key]
  return typeof given === 'number' ? given === number : textOf(given) === value
}
