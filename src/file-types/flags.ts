/** Boolean properties of a message: a field, or conditions. */
import { arrayAt, isObject, isUnset, objectAt, textAt } from '../domain/fields.ts'
import { compileConditions } from './conditions.ts'
import type { DecodeErrors } from './decode-errors.ts'
import type { Message } from './file-type.ts'
import { type Path, pathAt } from './paths.ts'
import type { LocatedValue } from './realtime-section.ts'

export interface Flag {
  /** The field, or the first field of the conditions, for errors. */
  readonly name: string
  readonly read: (message: Message, errors: DecodeErrors) => boolean
}

/** Compiles a path or `{conditions}`; null if absent. Throws `FieldError`. */
export function flagAt({ value, path }: LocatedValue): Flag | null {
  if (isUnset(value)) return null
  if (!isObject(value)) return fieldFlag(pathAt(value, path))
  const { conditions } = objectAt(value, path, ['conditions'])
  const at = `${path}.conditions`
  const [first] = arrayAt(conditions, at)
  const { src_field, field_name } = objectAt(first, `${at}.0`)
  const name = textAt(src_field ?? field_name, `${at}.0.src_field`)
  const holds = compileConditions(conditions, at, (field, location) => pathAt(field, location).in)
  return { name, read: holds }
}

export function fieldFlag(field: Path): Flag {
  const { name } = field
  return { name, read: (message, errors) => errors.flag(field.in(message), name) }
}
