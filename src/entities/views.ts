/** Response views of documents: dates, ids, and the envelopes. */
import { isSealed } from '../catalog/sealing/sealing.ts'
import type { Fields } from '../domain/fields.ts'
import { localTime } from '../domain/time.ts'

export interface ReadViewOptions {
  /** Time zone of dates that are texts. */
  readonly timeZone: string
  /** Dotted paths of further dates that are texts; lists on the path are traversed. */
  readonly dateFields: readonly string[] | 'all'
  /** Dotted paths that are left out. */
  readonly hidden?: readonly string[]
}

/** At any depth, in responses to reads. */
const TEXT_DATES: ReadonlySet<string> = new Set(['from', 'to', 'creation_time', 'erased_at'])
/** Top-level fields that only the node uses. */
const INTERNAL: ReadonlySet<string> = new Set(['rev', 'deleted', 'deleted_at'])
const PROTOTYPE_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

interface ViewOptions {
  /** Null for responses to writes, in which all dates are objects. */
  readonly timeZone: string | null
  readonly dates: ReadonlySet<string> | 'all'
  readonly hidden: ReadonlySet<string>
}

/** A document in a response to a read: `from`, `to`, `creation_time` and `dateFields` are texts. */
export function readView(document: Fields, shape: ReadViewOptions): Record<string, unknown> {
  const { timeZone, dateFields, hidden = [] } = shape
  const view = documentView(document, {
    timeZone,
    dates: dateFields === 'all' ? 'all' : new Set(dateFields),
    hidden: new Set(hidden),
  })
  const { invoice_id: invoice } = view
  const whole = typeof invoice === 'string' && /^\d{1,16}$/.test(invoice) ? Number(invoice) : null
  if (whole !== null && Number.isSafeInteger(whole)) view['invoice_id'] = whole
  return view
}

/** A document in a response to a write: every date is `{sec, usec}`. */
export function writeView(
  document: Fields,
  hidden: readonly string[] = [],
): Record<string, unknown> {
  return documentView(document, { timeZone: null, dates: new Set(), hidden: new Set(hidden) })
}

function documentView(document: Fields, options: ViewOptions): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(document)) {
    if (!INTERNAL.has(key)) addMemberView(result, key, value, key, options)
  }
  return result
}

function addMemberView(
  into: Record<string, unknown>,
  key: string,
  value: unknown,
  path: string,
  options: ViewOptions,
): void {
  if (value === undefined || PROTOTYPE_NAMES.has(key) || options.hidden.has(path)) return
  // Sealed secrets are never shown.
  if (typeof value === 'string' && isSealed(value)) return
  into[key] = valueView(value, key, path, options)
}

function valueView(value: unknown, key: string, path: string, options: ViewOptions): unknown {
  if (value instanceof Date) return dateView(value, key, path, options)
  if (Array.isArray(value)) return value.map((each) => valueView(each, key, path, options))
  if (typeof value === 'bigint') return numberOrText(String(value))
  if (typeof value !== 'object' || value === null) return value
  if ('_bsontype' in value) return bsonView(value as BsonValue)
  const result: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    addMemberView(result, name, member, `${path}.${name}`, options)
  }
  // Existing clients expect an empty object as an empty list.
  return Object.keys(result).length === 0 ? [] : result
}

interface BsonValue {
  readonly _bsontype: unknown
  toString(): string
  readonly collection?: unknown
  readonly oid?: unknown
}

/** BSON types without a native JavaScript type. */
function bsonView(value: BsonValue): unknown {
  switch (value._bsontype) {
    case 'ObjectId':
      return { $id: String(value) }
    case 'DBRef':
      return { $ref: String(value.collection), $id: { $id: String(value.oid) } }
    case 'Long':
    case 'Int32':
    case 'Double':
    case 'Decimal128':
      return numberOrText(String(value))
    default:
      return String(value)
  }
}

/** A number if it has the same text. */
function numberOrText(text: string): number | string {
  const number = Number(text)
  return String(number) === text ? number : text
}

function dateView(date: Date, key: string, path: string, options: ViewOptions): unknown {
  const atMs = date.getTime()
  if (Number.isNaN(atMs)) return null
  const { timeZone, dates } = options
  const isText = dates === 'all' || TEXT_DATES.has(key) || dates.has(path)
  if (timeZone !== null && isText) {
    return dateText(atMs, timeZone)
  }
  const sec = Math.floor(atMs / 1000)
  return { sec, usec: (atMs - sec * 1000) * 1000 }
}

/** `2026-01-31T10:00:00+0200`: local time in a zone with its offset from UTC. */
export function dateText(atMs: number, timeZone: string): string {
  const wholeMs = Math.floor(atMs / 1000) * 1000
  const { year, month, day, hour, minute, second } = localTime(timeZone, wholeMs)
  const wallMs = Date.UTC(year, month - 1, day, hour, minute, second)
  const offset = Math.round((wallMs - wholeMs) / 60_000)
  const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60]
  const date = [digits(year, 4), digits(month), digits(day)].join('-')
  const time = [digits(hour), digits(minute), digits(second)].join(':')
  return `${date}T${time}${offset < 0 ? '-' : '+'}${digits(hours)}${digits(minutes)}`
}

function digits(value: number, width = 2): string {
  return String(value).padStart(width, '0')
}

/** Response to a read. Clients expect `status` first. */
export function readEnvelope(
  rows: readonly object[],
  nextPage: boolean,
  warnings: readonly string[] = [],
) {
  const more = warnings.length > 0 ? { warnings } : {}
  return { status: 1, next_page: nextPage, details: rows, ...more }
}

/**
 * Response to a write: the result, the document after it, and additional members (`line`,
 * `totalUpdated`), which never replace these.
 */
export function writeEnvelope(
  details: unknown,
  entity: unknown,
  more: Fields = {},
): Record<string, unknown> {
  const envelope = { status: 1, details, entity }
  return { ...envelope, ...more, ...envelope }
}
