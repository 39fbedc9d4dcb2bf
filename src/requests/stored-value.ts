/** Values that are stored unchanged, except for dates: checks their keys. */
import { fullTimestamp, secUsecInstant } from './instant.ts'
import { DEPTH_MAX } from './json-limits.ts'
import { unsafeName } from './names.ts'
import type { FieldProblems } from './problems.ts'

/**
 * A copy in which full ISO timestamps and `{sec, usec}`, the format of dates in responses, are
 * dates. Keys with dots, keys that start with `$` and names of prototypes are errors, because the
 * store would interpret them as paths or operators.
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

/** Why a key must not occur in a document; null if it is valid. */
export function badKey(key: string): string | null {
  if (key.startsWith('$')) return 'is a name that begins with $'
  if (key.includes('.')) return 'is a name with a dot, which is not declared'
  return unsafeName(key)
}
