/** The JSON of a case, made harmless: of bounded depth, and its dates are texts. */
import { FieldError } from '../../domain/fields.ts'
import { within } from './case.ts'

/** Objects and lists within each other; a document of the store has at most as many. */
const DEPTH_MAX = 100

/**
 * The same value, or a copy if it has dates as the entity API answers them: `{ sec, usec }`
 * (spec/entity-api.md 1.6). Throws `FieldError` with the path of what is nested too deep.
 */
export function plainCase(value: unknown): unknown {
  return plain(value, '', 0)
}

function plain(value: unknown, path: string, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEPTH_MAX) {
    throw new FieldError(path, `is nested deeper than ${DEPTH_MAX} objects and lists`)
  }
  const date = dateText(value)
  if (date !== null) return date
  const entries = Object.entries(value)
  const parts = entries.map(([key, part]) =>
    typeof part === 'object' ? plain(part, within(path, key), depth + 1) : part,
  )
  if (parts.every((part, index) => part === entries[index]?.[1])) return value
  if (Array.isArray(value)) return parts
  return Object.fromEntries(entries.map(([key], index) => [key, parts[index]]))
}

/** Null: no date, or one that no calendar has. */
function dateText(value: object): string | null {
  const { sec, usec } = value as { sec?: unknown; usec?: unknown }
  if (typeof sec !== 'number' || typeof usec !== 'number') return null
  if (Object.keys(value).length !== 2) return null
  const date = new Date(sec * 1000 + usec / 1000)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}
