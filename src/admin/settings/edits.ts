/** Edits of a category's stored value: pure, and repeated after a concurrent write. */
import { isEmpty, isObject } from '../../domain/fields.ts'
import { EntityRuleError, fieldRule, TargetError } from '../../requests/errors.ts'
import { refusedValue } from '../../requests/json-limits.ts'
import type { Category } from './category.ts'
import { valueAt, withoutValueAt, withValueAt } from './paths.ts'

export interface Edited {
  /** Value to store after validation. */
  readonly value: unknown
  /** Answer of the call: the new value at a path, or data that is returned only once. */
  readonly response: { readonly path: readonly string[] } | { readonly once: unknown }
}

export type Edit = (stored: unknown, nowMs: number) => Edited

/** Throws `EntityRuleError` for data that cannot be stored. */
export function editOf(
  category: Category,
  type: 'set' | 'unset',
  steps: readonly string[],
  data: unknown,
): Edit {
  if (type === 'set' && data === undefined) throw fieldRule('data', 'is missing', 'missing')
  const refused = refusedValue(data, 'data')
  if (refused !== null) throw refused
  if (category.special !== undefined) return specialEdit(category, type, steps, data)
  return type === 'set' ? setEdit(category, steps, data) : unsetEdit(category, steps)
}

function setEdit(category: Category, steps: readonly string[], data: unknown): Edit {
  return (stored) => {
    const view = viewOf(category, stored)
    const path = steps.length === 0 ? memberPath(category, view, data) : steps
    const value = withValueAt(view, path, data, category.name)
    return { value: mergedValue(category, value, stored), response: { path } }
  }
}

/** A member of a list replaces the one with its name, or is appended. */
function memberPath(category: Category, list: unknown, data: unknown): readonly string[] {
  const { memberName } = category
  if (memberName === undefined || !isObject(data) || !Array.isArray(list)) return []
  const name = data[memberName]
  const index = list.findIndex((each) => isObject(each) && each[memberName] === name)
  return [String(index < 0 ? list.length : index)]
}

function unsetEdit(category: Category, steps: readonly string[]): Edit {
  return (stored) => {
    const view = viewOf(category, stored)
    if (valueAt(view, steps) === null) {
      throw new TargetError(`nothing is stored at ${[category.name, ...steps].join('.')}`)
    }
    const empty = Array.isArray(stored) ? [] : {}
    const value = steps.length === 0 ? empty : withoutValueAt(view, steps)
    return { value: mergedValue(category, value, stored), response: { path: [] } }
  }
}

function specialEdit(
  { name, special }: Category,
  type: 'set' | 'unset',
  steps: readonly string[],
  data: unknown,
): Edit {
  if (type === 'set' && steps.length > 0) {
    throw new EntityRuleError(`${name} cannot be set by path: send the data of one member`, {
      path: 'path',
    })
  }
  const named = data ?? (steps.length === 0 ? undefined : { name: steps.join('.') })
  if (named === undefined) throw fieldRule('data', 'is missing: it must name the member', 'missing')
  return (stored, nowMs) => {
    const change =
      type === 'set' ? special?.set(stored, named, nowMs) : special?.unset(stored, named)
    return { value: change?.value, response: { once: change?.response } }
  }
}

/** Path of the member named in `data`, as clients of file types send it. */
export function nameInData({ memberName }: Category, data: unknown): readonly string[] {
  if (data === undefined) return []
  if (memberName === undefined) {
    if (isEmpty(data)) return []
    throw fieldRule('data', 'is not allowed for this category: name the setting by its path')
  }
  const name = isObject(data) ? data[memberName] : undefined
  if (typeof name === 'string' && name !== '') return [name]
  throw fieldRule(`data.${memberName}`, 'is missing: it names the member to remove', 'missing')
}

/** `version`: a value from the history. Throws `EntityRuleError` if the history did not keep it. */
export function restoreEdit(category: Category, version: unknown): Edit {
  const { name, special } = category
  if (special !== undefined)
    throw new EntityRuleError(`versions of ${name} cannot be restored`, 'refused')
  if (version === null) {
    throw new EntityRuleError(
      `the value of this version of ${name} was not kept: it has secrets`,
      'refused',
    )
  }
  return (stored) => {
    const value = mergedValue(category, viewOf(category, version), stored)
    return { value, response: { path: [] } }
  }
}

function viewOf({ view }: Category, stored: unknown): unknown {
  return view === undefined ? stored : view(stored)
}

function mergedValue({ merge }: Category, value: unknown, stored: unknown): unknown {
  return merge === undefined ? value : merge(value, stored)
}
