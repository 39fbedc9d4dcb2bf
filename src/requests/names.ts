/** Names of fields and parameters: checks for safety and lookup of declarations. */
import { nearest } from '../config/nearest.ts'
import type { Param, Params } from './param.ts'

/** Names that an assignment treats as a prototype, or the driver as one of its types. */
const RESERVED: ReadonlySet<string> = new Set([
  '__proto__',
  'constructor',
  'prototype',
  '_bsontype',
])
const NAME_LENGTH_MAX = 256
/** The cost of the comparison is the product of both lengths. */
const COMPARED_LENGTH_MAX = 64
/** Allowed values of the `*` in a declared `rates.*`. */
export const KEY_PATTERN = /^[A-Z0-9_]+$/

/** Why a key must not occur in any object of a request; null if it is safe. */
export function unsafeName(name: string): string | null {
  if (RESERVED.has(name)) return 'is a name that is not allowed'
  return name.includes('\0') ? 'is a name with a zero byte' : null
}

/** Why a dotted field name cannot be used to sort, project or change; null if it is valid. */
export function badFieldName(name: string): string | null {
  if (name.length > NAME_LENGTH_MAX) return `has more than ${NAME_LENGTH_MAX} characters`
  for (const step of name.split('.')) {
    if (step === '') return 'is not the name of a field'
    if (step.startsWith('$')) return 'is a name that begins with $'
    const reason = unsafeName(step)
    if (reason !== null) return reason
  }
  return null
}

/** The parameter with this name, or the declared `rates.*` for `rates.<KEY>`. */
export function declaredAt(params: Params, name: string): Param | undefined {
  if (Object.hasOwn(params, name)) return params[name]
  const dot = name.indexOf('.')
  const anyKey = `${name.slice(0, dot)}.*`
  if (dot < 0 || !Object.hasOwn(params, anyKey)) return undefined
  return KEY_PATTERN.test(name.slice(dot + 1)) ? params[anyKey] : undefined
}

/** Error text for an undeclared name, with a suggestion. */
export function unknownReason(name: string, known: readonly string[]): string {
  const suggestion = name.length > COMPARED_LENGTH_MAX ? undefined : nearest(name, known)
  return suggestion === undefined ? 'is not known here' : `is not known here, '${suggestion}' is`
}

/** The first two names of which one contains the other: stores cannot change or project both. */
export function overlapping(names: readonly string[]): readonly [string, string] | null {
  const all = new Set(names)
  for (const name of names) {
    for (let dot = name.indexOf('.'); dot > 0; dot = name.indexOf('.', dot + 1)) {
      const outer = name.slice(0, dot)
      if (all.has(outer)) return [outer, name]
    }
  }
  return null
}
