/**
 * Usage that a network element splits by itself where the tariff changes (RFC 8506 section 8.27):
 * each member of the list that reports it says on which side of the change its units were used.
 */
import { type Fields, isObject, isUnset } from '../domain/fields.ts'
import { type Path, pathAt, type Scope } from './paths.ts'
import { membersOf, termAt, type VolumeTerm } from './volume-terms.ts'

/** Beside `each` and `fields` of `used_usagev_field`: where a member says it. */
const CHANGE = 'tariff_change_field'
/** UNIT_BEFORE_TARIFF_CHANGE and UNIT_AFTER_TARIFF_CHANGE. */
const BEFORE = '0'
const AFTER = '1'

/** All that was used: what `used_usagev_field` says beside the tariff change. */
export function usedTermAt(value: unknown, path: string, unit: string): VolumeTerm {
  if (!isSplit(value)) return termAt(value, path, unit, true)
  const { [CHANGE]: _, ...volume } = value
  return termAt(volume, path, unit, true)
}

/**
 * Base units from before the change; -1 unless each member that has units says on which side they
 * were used. Null: the document names no field for it. Throws `FieldError`.
 */
export function beforeChangeAt(
  value: unknown,
  path: string,
  unit: string,
): VolumeTerm['read'] | null {
  if (!isSplit(value)) return null
  const change = pathAt(value[CHANGE], `${path}.${CHANGE}`)
  const list = pathAt(value['each'], `${path}.each`)
  const units = termAt(value['fields'], `${path}.fields`, unit, true)
  return (scope, findings) => {
    if (!saysAny(list.read(scope), change)) return -1
    let before = 0
    for (const member of membersOf(list, scope)) {
      const used = units.read(member, findings)
      if (used <= 0) continue
      const side = sideOf(change, member)
      if (side !== BEFORE && side !== AFTER) return -1
      if (side === BEFORE) before += used
    }
    return before
  }
}

function isSplit(value: unknown): value is Fields {
  return isObject(value) && !isUnset(value[CHANGE])
}

/** Most reports are of one tariff, and say nothing. */
function saysAny(value: unknown, change: Path): boolean {
  if (!Array.isArray(value)) return isObject(value) && change.in(value) !== undefined
  for (const member of value) {
    if (isObject(member) && change.in(member) !== undefined) return true
  }
  return false
}

/** Empty if the member does not say. */
function sideOf(change: Path, member: Scope): string {
  const side = change.read(member)
  return typeof side === 'number' || typeof side === 'string' ? String(side) : ''
}
