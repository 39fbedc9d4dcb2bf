/**
 * Dotted paths into a stored value: keys of objects, and members of lists by position or name.
 * Arguments are not modified.
 */
import { isObject } from '../../domain/fields.ts'
import { fieldRule } from '../../requests/errors.ts'
import { badFieldName } from '../../requests/names.ts'
import { truncatedName } from '../../requests/problems.ts'

/** Name fields of list members, in order of precedence. */
const NAMES = ['name', 'key', 'field_name', 'file_type', 'event_code']
const STEPS_MAX = 32

/**
 * Segments of a path; none if it is empty. Throws `EntityRuleError` for a name that is not allowed.
 */
export function stepsOf(path: string): readonly string[] {
  if (path === '') return []
  const reason = badFieldName(path)
  if (reason !== null) throw fieldRule('path', `${truncatedName(path)} ${reason}`)
  const steps = path.split('.')
  if (steps.length <= STEPS_MAX) return steps
  throw fieldRule('path', `${truncatedName(path)} has more than ${STEPS_MAX} steps`)
}

/** Null if the path does not exist. */
export function valueAt(value: unknown, steps: readonly string[]): { value: unknown } | null {
  if (steps.length === 0) return { value }
  if (Array.isArray(value)) {
    const found = memberOf(value, steps)
    return found === null ? null : valueAt(value[found.index], found.rest)
  }
  const [step = '', ...rest] = steps
  if (!isObject(value) || !Object.hasOwn(value, step)) return null
  return valueAt(value[step], rest)
}

/**
 * A copy with another value at a path; missing objects on the way are created. `at`: the path so
 * far, for errors. Throws `EntityRuleError` if the path leads through a value without members.
 */
export function withValueAt(
  value: unknown,
  steps: readonly string[],
  set: unknown,
  at: string,
): unknown {
  const [step, ...rest] = steps
  if (step === undefined) return set
  if (Array.isArray(value)) {
    const found = memberOf(value, steps)
    if (found !== null) {
      const { index, rest: further } = found
      return value.with(index, withValueAt(value[index], further, set, `${at}.${step}`))
    }
    if (step === String(value.length)) {
      return [...value, withValueAt(undefined, rest, set, `${at}.${step}`)]
    }
    throw fieldRule(at, `has no member ${truncatedName(step)}`, 'unknown')
  }
  if (value !== undefined && value !== null && !isObject(value)) {
    throw fieldRule(at, 'has no parts: it is neither an object nor a list')
  }
  const own = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  return { ...value, [step]: withValueAt(own, rest, set, `${at}.${step}`) }
}

/** A copy without the value at a path, which must exist (`valueAt`) and not be empty. */
export function withoutValueAt(value: unknown, steps: readonly string[]): unknown {
  if (Array.isArray(value)) {
    const found = memberOf(value, steps)
    if (found === null) return value
    const { index, rest } = found
    if (rest.length === 0) return value.toSpliced(index, 1)
    return value.with(index, withoutValueAt(value[index], rest))
  }
  const [step = '', ...rest] = steps
  if (!isObject(value)) return value
  if (rest.length > 0) return { ...value, [step]: withoutValueAt(value[step], rest) }
  const { [step]: _, ...others } = value
  return others
}

interface Member {
  index: number
  /** Path segments inside the member. */
  rest: readonly string[]
}

/** By position or by name; a name may contain dots, and the longest match wins. */
function memberOf(list: readonly unknown[], steps: readonly string[]): Member | null {
  for (let length = steps.length; length > 0; length -= 1) {
    const name = steps.slice(0, length).join('.')
    const index = list.findIndex((member) => nameOfMember(member) === name)
    if (index >= 0) return { index, rest: steps.slice(length) }
  }
  const [step = '', ...rest] = steps
  const index = /^(0|[1-9]\d{0,8})$/.test(step) ? Number(step) : list.length
  return index < list.length ? { index, rest } : null
}

/** Undefined if it has no name. */
function nameOfMember(member: unknown): unknown {
  if (!isObject(member)) return undefined
  const key = NAMES.find((name) => typeof member[name] === 'string')
  return key === undefined ? undefined : member[key]
}
