/**
 * Usage that a network element splits at a tariff change (RFC 8506 section 8.27): each list member
 * that reports usage says on which side of the change its units were used.
 */
import { type Fields, isObject, isUnset } from '../domain/fields.ts'
import { type Path, pathAt, type Scope } from './paths.ts'
import { membersOf, termAt, type VolumeTerm } from './volume-terms.ts'

/** Key of `used_usagev_field`, next to `each` and `fields`: the field with the side. */
const CHANGE = 'tariff_change_field'
/** UNIT_BEFORE_TARIFF_CHANGE and UNIT_AFTER_TARIFF_CHANGE. */
const BEFORE = '0'
const AFTER = '1'

/** Total usage: the term of `used_usagev_field` without the tariff change. */
export function usedTermAt(value: unknown, path: string, unit: string): VolumeTerm {
  if (!isSplit(value)) return termAt(value, path, unit, true)
  const { [CHANGE]: _, ...volume } = value
  return termAt(volume, path, unit, true)
}

/**
 * Base units used before the change; -1 unless each member with units has a side. Null if the
 * document has no such field. Throws `FieldError`.
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
  return (scope, errors) => {
    if (!saysAny(list.read(scope), change)) return -1
    let before = 0
    for (const member of membersOf(list, scope)) {
      const used = units.read(member, errors)
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

/** Fast path: most reports have no tariff change. */
function saysAny(value: unknown, change: Path): boolean {
  if (!Array.isArray(value)) return isObject(value) && change.in(value) !== undefined
  for (const member of value) {
    if (isObject(member) && change.in(member) !== undefined) return true
  }
  return false
}

/** Empty if the member has no side. */
function sideOf(change: Path, member: Scope): string {
  const side = change.read(member)
  return typeof side === 'number' || typeof side === 'string' ? String(side) : ''
}
