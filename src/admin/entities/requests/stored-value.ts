/** Values that are stored as they are sent: what may not be in them, and the dates among them. */
import { fullTimestamp, secUsecInstant } from './instant.ts'
import { DEPTH_MAX } from './json-limits.ts'
import { unsafeName } from './names.ts'
import type { FieldProblems } from './problems.ts'

/**
 * A copy in which full ISO timestamps, and dates as answers show them (`{sec, usec}`), are dates.
 * Keys with dots, keys that begin with `$` and names of prototypes are problems: they would be
 * paths or operators of the store.
 */
export function storedValue(
  value: unknown,
  path: string,
  problems: FieldProblems,
  depth = 1,
): unknown {
  if (typeof value === 'string') return fullTimestamp(value) ?? value
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (depth > DEPTH_MAX) {
    problems.invalid(path, `is nested deeper than ${DEPTH_MAX} levels`)
    return undefined
  }
  if (Array.isArray(value)) {
    return value.map((each, index) => storedValue(each, `${path}.${index}`, problems, depth + 1))
  }
  const atMs = 'sec' in value && 'usec' in value ? secUsecInstant(value) : null
  if (atMs !== null) return new Date(atMs)
  const result: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    const reason = badKey(key)
    if (reason !== null) problems.invalid(`${path}.${key}`, reason)
    else result[key] = storedValue(member, `${path}.${key}`, problems, depth + 1)
  }
  return result
}

/** Why a key may not be in a document; null if it may. */
export function badKey(key: string): string | null {
  if (key.startsWith('$')) return 'is a name that begins with $'
  if (key.includes('.')) return 'is a name with a dot, which is not declared'
  return unsafeName(key)
}
