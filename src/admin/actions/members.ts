/** Checks of the members of compound parameters. All throw `EntityRuleError` with the path. */
import type { Fields } from '../../domain/fields.ts'
import { fieldRule } from '../../requests/errors.ts'
import { dateOf } from '../../requests/instant.ts'
import { type ActionCall, castOptions } from './action.ts'

/** The value of a member that must be sent. */
export function memberAt(fields: Fields, name: string, path: string): unknown {
  const value = fields[name]
  if (value === undefined || value === null)
    throw fieldRule(`${path}.${name}`, 'is missing', 'missing')
  return value
}

export function dateAt(fields: Fields, name: string, path: string, call: ActionCall): Date {
  const date = dateOf(memberAt(fields, name, path), castOptions({}, call))
  if (date !== null) return date
  throw fieldRule(`${path}.${name}`, 'must be a date, as in 2030-01-31 or ISO 8601')
}

/** Null if it is not a positive integer, as a number or a text without leading zero. */
export function positiveIntegerOf(value: unknown): number | null {
  const number = typeof value === 'string' && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) && Number(number) > 0 ? Number(number) : null
}

/** Refuses members with other names: to ignore one could mean to change too much. */
export function refuseOthers(fields: Fields, known: readonly string[], path: string): void {
  const other = Object.keys(fields).find((name) => !known.includes(name))
  if (other === undefined) return
  throw fieldRule(`${path}.${other.slice(0, 64)}`, `is not one of ${known.join(', ')}`, 'unknown')
}
