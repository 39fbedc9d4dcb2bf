/** Rules for recurring prices of plans and services and their rounding. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { type Fields, isUnset } from '../../domain/fields.ts'
import { type DisplayCode, fieldRule } from '../../requests/errors.ts'
import { type FieldChanges, withChanges } from '../timeline/set-fields.ts'
import { fieldsOf, isChanged } from './values.ts'

/** The revision after the requested changes; on create there is no previous one. */
export function withRequestedChanges(target: RawDocument | null, changes: FieldChanges): Fields {
  return withChanges(target ?? ({} as RawDocument), changes)
}

/** True if the request sets a field or a part of it. */
export function isSent(changes: FieldChanges, name: string): boolean {
  return Object.keys(changes.set).some((path) => path === name || path.startsWith(`${name}.`))
}

/**
 * Checked on create and if the request changes the recurrence; other updates need not repeat it.
 */
export function checkRecurrence({ recurrence }: Fields, code: DisplayCode): void {
  const { periodicity, frequency, start } = fieldsOf(recurrence)
  if (!isUnset(periodicity)) return
  const missing = isUnset(frequency) ? 'frequency' : 'start'
  if (!isUnset(frequency) && !isUnset(start)) return
  const reason = 'is missing: give frequency and start, or periodicity'
  throw fieldRule(`recurrence.${missing}`, reason, 'missing', code)
}

const ROUNDING_TYPES: readonly unknown[] = ['up', 'down', 'nearest']
const DECIMALS_MAX = 10

/** A rounding stage requires a type and decimals. */
export function checkRounding(document: Fields, stored: Fields | null): void {
  if (!isChanged(document, stored, 'rounding_rules')) return
  const rules = fieldsOf(document['rounding_rules'])
  const { rounding_stage: stage, rounding_type: type, rounding_decimals: decimals } = rules
  if (isUnset(stage) || stage === 'None') return
  if (!ROUNDING_TYPES.includes(type)) {
    throw fieldRule('rounding_rules.rounding_type', 'must be up, down or nearest')
  }
  const number = isUnset(decimals) ? Number.NaN : Number(decimals)
  if (Number.isInteger(number) && number >= 0 && number <= DECIMALS_MAX) return
  const reason = `must be an integer from 0 to ${DECIMALS_MAX}`
  throw fieldRule('rounding_rules.rounding_decimals', reason)
}
