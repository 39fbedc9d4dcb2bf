/**
 * Terms of a volume: a sum of fields; several such groups, of which the first present one is used;
 * or the sum over the members of a list.
 */
import { arrayAt, FieldError, isObject, isUnset, objectAt } from '../domain/fields.ts'
import type { DecodeErrors } from './decode-errors.ts'
import { type Path, pathAt, type Scope } from './paths.ts'
import { baseUnitsOf, isTooLarge } from './units.ts'

export interface VolumeTerm {
  /** First field, for errors. */
  readonly name: string
  /** Base units; -1 if the fields are absent. */
  readonly read: (scope: Scope, errors: DecodeErrors) => number
  /** Raw values of its fields. */
  readonly values: (scope: Scope) => readonly unknown[]
}

const TOO_LARGE = 'is more than 2^53 - 1 base units together with the fields before'

/**
 * Compiles a path, a list of paths and `{each, fields}`, or a list of such lists. `isPartial`: some
 * members of a plain list may be absent, as always in groups. Throws `FieldError`.
 */
export function termAt(value: unknown, path: string, unit: string, isPartial: boolean): VolumeTerm {
  return groupsAt(value, path, { unit, within: '' }, isPartial)
}

interface TermContext {
  readonly unit: string
  /** Path of the enclosing list, ending with a dot, for errors. */
  readonly within: string
}

function groupsAt(
  value: unknown,
  path: string,
  context: TermContext,
  isPartial: boolean,
): VolumeTerm {
  if (!Array.isArray(value)) return singleAt(value, path, context)
  if (!value.some(Array.isArray)) return sumAt(value, path, context, isPartial)
  const groups = value.map((group, index) => {
    const at = `${path}.${index}`
    if (!Array.isArray(group)) throw new FieldError(at, 'must be a list, as the others are')
    if (group.some(Array.isArray)) throw new FieldError(at, 'must be a list of fields')
    return sumAt(group, at, context, true)
  })
  return {
    name: groups[0]?.name ?? '',
    read: (scope, errors) => {
      for (const group of groups) {
        const units = group.read(scope, errors)
        if (units >= 0) return units
      }
      return -1
    },
    values: (scope) => groups.flatMap((group) => group.values(scope)),
  }
}

function singleAt(value: unknown, path: string, context: TermContext): VolumeTerm {
  if (isObject(value)) return eachAt(value, path, context)
  return fieldTerm(pathAt(value, path), context)
}

function fieldTerm(field: Path, { unit, within }: TermContext): VolumeTerm {
  const name = `${within}${field.name}`
  const { read } = field
  const toBaseUnits = baseUnitsOf(unit)
  return {
    name,
    read: (scope, errors) => {
      const value = read(scope)
      if (value === undefined || value === '') return -1
      const units = toBaseUnits(value)
      if (typeof units === 'number') return units
      if (isTooLarge(units)) return errors.tooLarge(name, units)
      errors.fail(name, units)
      return 0
    },
    values: (scope) => [read(scope)],
  }
}

function sumAt(
  list: readonly unknown[],
  path: string,
  context: TermContext,
  isPartial: boolean,
): VolumeTerm {
  const terms = list.map((each, index) => singleAt(each, `${path}.${index}`, context))
  const [first] = terms
  if (first !== undefined && terms.length === 1) return first
  return {
    name: first?.name ?? '',
    read: (scope, errors) => {
      let sum = isPartial && terms.length > 0 ? -1 : 0
      for (const term of terms) {
        const units = term.read(scope, errors)
        if (units >= 0) sum = added(Math.max(sum, 0), units, term.name, errors)
        else if (!isPartial) return -1
      }
      return sum
    },
    values: (scope) => terms.flatMap((term) => term.values(scope)),
  }
}

/**
 * Compiles `{each, fields}`: the sum of `fields` over the members of the list `each`, which may
 * also be a single record.
 */
function eachAt(document: object, path: string, { unit, within }: TermContext): VolumeTerm {
  const { each, fields } = objectAt(document, path, ['each', 'fields'])
  const list = pathAt(each, `${path}.each`)
  const at = `${path}.fields`
  if (!isUnset(fields)) arrayAt(fields, at)
  const context = { unit, within: `${within}${list.name}.` }
  const term = groupsAt(fields, at, context, true)
  const { name } = term
  return {
    name,
    read: (scope, errors) => {
      let sum = -1
      for (const member of membersOf(list, scope)) {
        const units = term.read(member, errors)
        if (units >= 0) sum = added(Math.max(sum, 0), units, name, errors)
      }
      return sum
    },
    values: (scope) => membersOf(list, scope).flatMap((member) => term.values(member)),
  }
}

/** The members of a list, or the single record, as separate scopes. */
export function membersOf(list: Path, scope: Scope): readonly Scope[] {
  const value = list.read(scope)
  const records: readonly unknown[] = Array.isArray(value) ? value : [value]
  return records.filter(isObject).map((entry) => ({ entry, message: entry }))
}

function added(sum: number, units: number, name: string, errors: DecodeErrors): number {
  const total = sum + units
  return Number.isSafeInteger(total) ? total : errors.tooLarge(name, TOO_LARGE)
}
