/** The request kind of a message, by code or name. */
import type { RequestKind } from '../domain/charge-request.ts'
import { FieldError, type Fields, isUnset, objectAt, textAt } from '../domain/fields.ts'
import type { DecodeErrors } from './decode-errors.ts'
import type { Message } from './file-type.ts'
import { compilePath, type Path, pathAt } from './paths.ts'

export interface RecordType {
  kind: RequestKind
  /** Name in the interface, such as `start_request`. */
  name: string
  /** As sent. */
  value: string | number
}

const NAMES: Readonly<Record<RequestKind, string>> = {
  start: 'start_request',
  update: 'update_request',
  release: 'release_request',
  event: 'event_request',
}

const KINDS: ReadonlyMap<string, RequestKind> = new Map([
  ['1', 'start'],
  ['start_request', 'start'],
  ['initial_request', 'start'],
  ['2', 'update'],
  ['update_request', 'update'],
  ['3', 'release'],
  ['release_request', 'release'],
  ['final_request', 'release'],
  ['termination_request', 'release'],
  ['terminate_request', 'release'],
  ['4', 'event'],
  ['event_request', 'event'],
  ['postpay_charge_request', 'event'],
])

const UNKNOWN =
  'must be start_request, update_request, release_request or event_request, or a code of them'
const CHARS_MAX = 64
const ONE_TIME: RecordType = { kind: 'event', name: NAMES.event, value: '4' }

/** Compiles `request_type_field` and `request_types`. Throws `FieldError`. */
export function compileRecordTypes(
  field: unknown,
  fieldPath: string,
  types: unknown,
  typesPath: string,
): (message: Message, errors: DecodeErrors) => RecordType {
  const paths = isUnset(field) ? DEFAULT_FIELDS : [pathAt(field, fieldPath)]
  const [first] = paths as [Path]
  const own = isUnset(types) ? null : ownTypes(objectAt(types, typesPath), typesPath)
  return (message, errors) => {
    let path = first
    let value: unknown
    for (let at = 0; at < paths.length && value === undefined; at += 1) {
      path = paths[at] as Path
      value = path.in(message)
    }
    if (typeof value !== 'string' && typeof value !== 'number') {
      if (value === undefined) errors.fail(first.name, 'is required')
      else errors.fail(path.name, UNKNOWN)
      return ONE_TIME
    }
    const kind = kindOf(String(value), own)
    if (kind === undefined) {
      errors.fail(path.name, UNKNOWN)
      return ONE_TIME
    }
    return { kind, name: NAMES[kind], value }
  }
}

/** Treats every message as an event (`postpay_charge`), regardless of its request type. */
export function compileOneTime(field: unknown, path: string): (message: Message) => RecordType {
  const paths = isUnset(field) ? DEFAULT_FIELDS : [pathAt(field, path)]
  return (message) => {
    for (const candidate of paths) {
      const value = candidate.in(message)
      const isText = typeof value === 'string' && value.length <= CHARS_MAX
      if (isText || typeof value === 'number') return { ...ONE_TIME, value }
    }
    return ONE_TIME
  }
}

const DEFAULT_FIELDS = ['request_type', 'record_type'].map((name) => compilePath(name) as Path)

function kindOf(
  value: string,
  own: ReadonlyMap<string, RequestKind> | null,
): RequestKind | undefined {
  if (value.length > CHARS_MAX) return undefined
  return own?.get(value) ?? KINDS.get(value) ?? KINDS.get(value.toLowerCase())
}

function ownTypes(document: Fields, path: string): ReadonlyMap<string, RequestKind> {
  return new Map(
    Object.entries(document).map(([value, name]) => {
      const kind = KINDS.get(textAt(name, `${path}.${value}`).toLowerCase())
      if (kind === undefined) throw new FieldError(`${path}.${value}`, `${UNKNOWN}, is '${name}'`)
      return [value, kind]
    }),
  )
}
