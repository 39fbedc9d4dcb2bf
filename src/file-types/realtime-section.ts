/** The section `realtime` of a document: its general keys and the overrides of usage types. */
import { FieldError, type Fields, isObject, isUnset, objectAt } from '../domain/fields.ts'

/** Keys that a usage type may override. */
const SCOPED_KEYS = [
  'default_values',
  'used_usagev_field',
  'used_usagev_accumulative',
  'rebalance_on_final',
  'quota_holding_time',
  'quota_threshold',
  'final_unit',
  'low_balance_threshold',
]
const GENERAL_KEYS = [
  'postpay_charge',
  'request_type_field',
  'request_types',
  'session_id_fields',
  'request_num_field',
  'pretend_field',
  'balances_field',
  'refund_field',
  'allow_get',
  'services_field',
  'requested_field',
  'subscriber_fields',
]
export const REALTIME_KEYS = [...SCOPED_KEYS, ...GENERAL_KEYS]
/** Name of the optional subsection for general keys. */
const GENERAL = 'general'

/** A value of the document and its path. */
export interface LocatedValue {
  readonly value: unknown
  readonly path: string
}

export interface RealtimeSection {
  readonly fields: Fields
  /** A general key. */
  general(key: string): LocatedValue
  /** A key of a usage type: its override, or the general value. */
  of(usaget: string, key: string): LocatedValue
}

/** Throws `FieldError` for unknown keys. */
export function readRealtimeSection(
  document: unknown,
  path: string,
  usagets: readonly string[],
): RealtimeSection {
  const fields = objectAt(document, path)
  for (const [key, value] of Object.entries(fields)) {
    if (REALTIME_KEYS.includes(key)) continue
    const at = `${path}.${key}`
    if (!isObject(value)) throw new FieldError(at, 'is not known', 'unknown')
    if (key === GENERAL) objectAt(value, at, REALTIME_KEYS)
    else if (usagets.includes(key)) objectAt(value, at, SCOPED_KEYS)
    else throw new FieldError(at, 'is neither a key nor a usage type of the processor')
  }
  const settingAt = (scope: string, key: string): LocatedValue => {
    const own = fields[scope]
    const scoped = isObject(own) ? own[key] : undefined
    if (!isUnset(scoped)) return { value: scoped, path: `${path}.${scope}.${key}` }
    return { value: fields[key], path: `${path}.${key}` }
  }
  const section: RealtimeSection = {
    fields,
    general: (key) => settingAt(GENERAL, key),
    of: (usaget, key) => {
      const own = REALTIME_KEYS.includes(usaget) ? section.general(key) : settingAt(usaget, key)
      return isUnset(own.value) ? section.general(key) : own
    },
  }
  return section
}

/** A boolean; false if absent. */
export function booleanAt({ value, path }: LocatedValue): boolean {
  if (isUnset(value)) return false
  if (typeof value === 'boolean') return value
  throw new FieldError(path, 'must be true or false')
}
