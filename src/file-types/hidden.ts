/**
 * Removes fields that `parser.structure` leaves unchecked. They are removed before anything but
 * request type and session id is read, so that neither rules nor answers use them.
 */
import { arrayAt, FieldError, isObject, isUnset, objectAt } from '../domain/fields.ts'
import type { Message } from './file-type.ts'
import { pathAt } from './paths.ts'

/**
 * Returns the message without hidden fields, as the same object if nothing is removed. Throws
 * `FieldError`.
 */
export function compileHidden(structure: unknown, path: string): (message: Message) => Message {
  const hidden = isUnset(structure) ? [] : arrayAt(structure, path).flatMap(hiddenAt(path))
  if (hidden.length === 0) return (message) => message
  return (message) => {
    let visible: unknown = message
    for (const steps of hidden) visible = without(visible, steps, 0)
    return visible as Message
  }
}

function hiddenAt(path: string): (member: unknown, index: number) => readonly string[][] {
  return (member, index) => {
    const at = `${path}.${index}`
    const field = objectAt(member, at, ['name', 'checked'])
    const { name } = pathAt(field['name'], `${at}.name`)
    if (name.includes('[')) throw new FieldError(`${at}.name`, 'must have no selector')
    const { checked } = field
    if (!isUnset(checked) && typeof checked !== 'boolean') {
      throw new FieldError(`${at}.checked`, 'must be true or false')
    }
    return checked === false ? [name.split('.')] : []
  }
}

/**
 * Returns a copy without the field, also in each member of lists on the path; the value itself if
 * it lacks the field.
 */
function without(value: unknown, steps: readonly string[], at: number): unknown {
  const step = steps[at] as string
  const isLast = at === steps.length - 1
  if (Array.isArray(value)) {
    if (!/^\d+$/.test(step)) return value.map((member) => without(member, steps, at))
    const index = Number(step)
    return value.map((member, position) => {
      if (position !== index) return member
      return isLast ? null : without(member, steps, at + 1)
    })
  }
  if (!isObject(value)) return value
  const whole = steps.slice(at).join('.')
  const hasWhole = Object.hasOwn(value, whole)
  const hasStep = Object.hasOwn(value, step)
  if (!hasWhole && !hasStep) return value
  const copy: Record<string, unknown> = Object.assign(Object.create(null), value)
  if (hasWhole) delete copy[whole]
  if (hasStep && !isLast) copy[step] = without(value[step], steps, at + 1)
  return copy
}
