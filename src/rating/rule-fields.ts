/**
 * Reading the documents of configured rules (spec/realtime.md 1.3, 1.4): each answers the value or
 * throws `RuleError` with its path.
 */
import { RuleError } from './rule-error.ts'

export type RuleFields = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is RuleFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object; with `known`, one that has no other keys: a rule nobody applies is a wrong price. */
export function objectAt(value: unknown, path: string, known?: readonly string[]): RuleFields {
  if (!isObject(value)) {
    throw new RuleError(path, value === undefined ? 'is missing' : 'must be an object')
  }
  const unknown = known === undefined ? [] : Object.keys(value).filter((k) => !known.includes(k))
  if (unknown.length > 0) throw new RuleError(`${path}.${unknown[0]}`, 'is not known')
  return value
}

export function listAt(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new RuleError(path, value === undefined ? 'is missing' : 'must be a list')
}

/** A text that is not empty. */
export function textAt(value: unknown, path: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new RuleError(path, value === undefined ? 'is missing' : 'must be a text, not empty')
}

/** One of a few texts. */
export function oneOfAt<T extends string>(value: unknown, path: string, options: readonly T[]): T {
  const found = options.find((option) => option === value)
  if (found !== undefined) return found
  const given = typeof value === 'string' ? `'${value}'` : typeof value
  throw new RuleError(path, `must be one of ${options.join(', ')}, is ${given}`)
}

/** Absent, or empty as a person clears a field in a form. */
export function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

const NAME = /^[A-Za-z0-9_-]+$/

/** Name of a usage type or tariff category. */
export function checkName(name: string, path: string): void {
  if (!NAME.test(name)) throw new RuleError(path, 'must be letters, digits, _ and - only')
}

/** The request's own name of a field: what follows `uf.` or `cf.`, which say where it was kept. */
export function requestField(name: string): string {
  return /^(?:uf|cf)\./.test(name) ? name.slice(3) : name
}
