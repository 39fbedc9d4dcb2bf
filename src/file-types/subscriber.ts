/**
 * Subscriber identification of a message: fields that rules read, and fields that name the
 * subscriber.
 */
import type { ChargeRequest, ServiceRequest, SubscriberKey } from '../domain/charge-request.ts'
import { isUnset, objectAt } from '../domain/fields.ts'
import {
  type DecodeErrors,
  isUsable,
  NUMBER_CHARS_MAX,
  TEXT_CHARS_MAX,
  UNUSABLE,
} from './decode-errors.ts'
import type { Message } from './file-type.ts'
import { type Path, pathAt } from './paths.ts'
import type { LocatedValue } from './realtime-section.ts'
import type { FileTypeRules, RetainedField } from './rules.ts'

const KEYS = ['sid', 'msisdn', 'imsi'] as const

export interface SubscriberField {
  readonly key: Exclude<SubscriberKey, 'none'>
  readonly path: Path
}

/** Compiles `subscriber_fields`, by default `sid`, `msisdn` and `imsi`. Throws `FieldError`. */
export function compileSubscriberFields({ value, path }: LocatedValue): readonly SubscriberField[] {
  const fields = isUnset(value)
    ? { sid: 'sid', msisdn: 'msisdn', imsi: 'imsi' }
    : objectAt(value, path, KEYS)
  return KEYS.filter((key) => !isUnset(fields[key])).map((key) => ({
    key,
    path: pathAt(fields[key], `${path}.${key}`),
  }))
}

/** The first of the fields that is present; null if absent. */
export function subscriberFieldIn(
  fields: readonly SubscriberField[],
  message: Message,
): SubscriberField | null {
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] as SubscriberField
    const value = field.path.in(message)
    if (value !== undefined && value !== '') return field
  }
  return null
}

export function subscriberValueOf(
  field: SubscriberField,
  message: Message,
  errors: DecodeErrors,
): string {
  const { key, path } = field
  const value = path.in(message)
  if (key !== 'sid') return errors.text(value, path.name, NUMBER_CHARS_MAX)
  const sid = errors.whole(value, path.name)
  if (sid === 0) errors.fail(path.name, 'must be positive')
  return String(sid)
}

/** Copies the fields that rules read; null if the record has none. Only texts and numbers count. */
export function retainedFieldsOf(
  retained: readonly RetainedField[],
  record: Message,
  errors: DecodeErrors,
): Record<string, string> | null {
  let fields: Record<string, string> | null = null
  for (let at = 0; at < retained.length; at += 1) {
    const { name, path } = retained[at] as RetainedField
    const value = path.in(record)
    const text = typeof value === 'number' ? String(value) : value
    if (typeof text !== 'string') continue
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      errors.fail(path.name, TOO_LARGE)
    } else if (text.length > TEXT_CHARS_MAX) {
      errors.fail(path.name, `must have at most ${TEXT_CHARS_MAX} characters`)
    } else if (!isUsable(text)) errors.fail(path.name, UNUSABLE)
    fields ??= {}
    fields[name] = text
  }
  return fields
}

/**
 * Like `retainedFieldsOf` for the entries of a list, which rarely have any of the fields: their few
 * members are looked up, instead of all fields in them.
 */
export function retainedOfEntries(
  retained: readonly RetainedField[],
): (entry: Message, errors: DecodeErrors) => Record<string, string> | null {
  const heads = new Set(retained.flatMap(({ path }) => path.heads))
  return (entry, errors) => {
    for (const name of Object.keys(entry)) {
      if (heads.has(name)) return retainedFieldsOf(retained, entry, errors)
    }
    return null
  }
}

/** The last digits are lost, so the number could identify another subscriber. */
const TOO_LARGE = 'is too large for a number: it must be a text'

/** Whether the message has a field that identification rules read. */
export function isIdentified(
  { retained, identifies }: FileTypeRules,
  services: readonly ServiceRequest[],
  fields: ChargeRequest['fields'],
): boolean {
  const tells = (name: string) => fields?.[name] !== undefined
  if (services.length === 0) {
    return identifies(null) && retained.some((field) => field.identifies && tells(field.name))
  }
  return services.some(
    (service) =>
      identifies(service.usaget) &&
      retained.some(
        (field) =>
          field.identifies && (service.fields?.[field.name] !== undefined || tells(field.name)),
      ),
  )
}

/** With more alternatives the error lists only the outermost fields. */
const ALTERNATIVES_MAX = 4

/** Error for a message without subscriber: lists the fields that could identify it. */
export function missingSubscriber(
  subscriberFields: readonly SubscriberField[],
  retained: readonly RetainedField[],
): { field: string; why: string } {
  const reading = retained.filter(({ identifies }) => identifies).map(({ name }) => name)
  const names = new Set([...reading, ...subscriberFields.map(({ path }) => path.name)])
  const isMany = names.size > ALTERNATIVES_MAX
  const listed = isMany ? new Set([...names].map(outermost).sort()) : names
  const [field = 'sid', ...others] = listed
  if (others.length === 0) return { field, why: 'is required' }
  return { field, why: `is required, or ${others.join(' or ')} in its place` }
}

function outermost(name: string): string {
  return name.replace(/[[.].*$/, '')
}
