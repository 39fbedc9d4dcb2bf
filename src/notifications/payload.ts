/** The parameters of a notification (docs/EVENTS.md). Pure. */
import type { NotificationDocument } from '../catalog/records/events/event-document.ts'
import { type Fields, isObject } from '../domain/fields.ts'

/** Parameters by name: plain JSON, times in seconds since 1970. */
export type Payload = Readonly<Record<string, unknown>>

/** Fields of an event that only the node reads. */
const NODE_FIELDS: ReadonlySet<string> = new Set([
  '_id',
  'receiver',
  'delivery',
  'balance_ref',
  'rule_ref',
  'notify_time',
  'returned_value',
  'emailed_to',
  'email_time',
])

/** `startMs`: when the attempt begins. */
export function payloadOf(event: NotificationDocument, startMs: number): Payload {
  const { matched_path: matched } = event as { matched_path?: unknown }
  const entries = Object.entries(event).filter(([name]) => !NODE_FIELDS.has(name))
  return {
    ...Object.fromEntries(entries.map(([name, value]) => [name, plainOf(value)])),
    start_notify_time: secondsOf(startMs),
    conditions: event.conditions.map((each) => conditionOf(plainOf(each), matched)),
  }
}

/** The parameters as `name=value&…`: objects and lists are JSON text. */
export function formOf(payload: Payload): string {
  return Object.entries(payload)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(textOf(value))}`)
    .join('&')
}

function textOf(value: unknown): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/**
 * A condition has `path`, `unit`, `usaget`, `type` and `value`. Of its alternatives (`paths`), the
 * path is the one that has met the rule, or else the first.
 */
function conditionOf(condition: unknown, matched: unknown): unknown {
  if (!isObject(condition) || typeof condition['type'] !== 'string') return condition
  const { path, unit = '', usaget = '', type, value = '', ...others } = condition
  return { path: path ?? pathIn(condition, matched), unit, usaget, type, value, ...others }
}

function pathIn({ paths, all_groups: isAllGroups }: Fields, matched: unknown): unknown {
  if (isAllGroups === true) return matched ?? ''
  const names = Array.isArray(paths)
    ? paths.map((each) => (isObject(each) ? each['path'] : ''))
    : []
  return names.includes(matched) ? matched : (names[0] ?? '')
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000)
}

/** Digits that a binary fraction keeps. */
const DIGITS_MAX = 15

/** The value of a document as JSON has it. */
function plainOf(value: unknown): unknown {
  if (value instanceof Date) return secondsOf(value.getTime())
  if (Array.isArray(value)) return value.map(plainOf)
  if (typeof value !== 'object' || value === null) return value
  if ('_bsontype' in value) {
    const text = String(value)
    const isNumber = value._bsontype !== 'ObjectId' && text.replace(/\D/g, '').length <= DIGITS_MAX
    return isNumber ? Number(text) : text
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainOf(each)]))
}
