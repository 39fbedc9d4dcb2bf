/** How documents are shown (spec/entity-api.md 1.3, 1.6): dates, ids, and the envelopes. */
import type { Fields } from '../../domain/fields.ts'
import { localTime } from '../../domain/time.ts'

export interface ReadViewOptions {
  /** Zone of the dates that are shown as texts. */
  readonly timeZone: string
  /** Dotted paths of further dates that are shown as texts; lists on the way are looked into. */
  readonly dateFields: readonly string[]
  /** Dotted paths that are never shown. */
  readonly hidden?: readonly string[]
}

/** At any depth, in reads. */
const TEXT_DATES: ReadonlySet<string> = new Set(['from', 'to', 'creation_time', 'erased_at'])
/** Of the whole document: what only the node needs. */
const INTERNAL: ReadonlySet<string> = new Set(['rev', 'deleted', 'deleted_at'])
const PROTOTYPE_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

interface ViewOptions {
  /** Null: of a write, in which all dates are objects. */
  readonly timeZone: string | null
  readonly dates: ReadonlySet<string>
  readonly hidden: ReadonlySet<string>
}

/** A document as reads show it: `from`, `to`, `creation_time` and the named dates are texts. */
export function readView(document: Fields, shape: ReadViewOptions): Record<string, unknown> {
  const { timeZone, dateFields, hidden = [] } = shape
  const shown = documentView(document, {
    timeZone,
    dates: new Set(dateFields),
    hidden: new Set(hidden),
  })
  const { invoice_id: invoice } = shown
  const whole = typeof invoice === 'string' && /^\d{1,16}$/.test(invoice) ? Number(invoice) : null
  if (whole !== null && Number.isSafeInteger(whole)) shown['invoice_id'] = whole
  return shown
}

/** A document as answers to writes show it: every date is `{sec, usec}`. */
export function writeView(
  document: Fields,
  hidden: readonly string[] = [],
): Record<string, unknown> {
  return documentView(document, { timeZone: null, dates: new Set(), hidden: new Set(hidden) })
}

function documentView(document: Fields, showing: ViewOptions): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(document)) {
    if (!INTERNAL.has(key)) addMemberView(result, key, value, key, showing)
  }
  return result
}

function addMemberView(
  into: Record<string, unknown>,
  key: string,
  value: unknown,
  path: string,
  showing: ViewOptions,
): void {
  if (value === undefined || PROTOTYPE_NAMES.has(key) || showing.hidden.has(path)) return
  into[key] = valueView(value, key, path, showing)
}

function valueView(value: unknown, key: string, path: string, showing: ViewOptions): unknown {
  if (value instanceof Date) return dateView(value, key, path, showing)
  if (Array.isArray(value)) return value.map((each) => valueView(each, key, path, showing))
  if (typeof value === 'bigint') return numberOrText(String(value))
  if (typeof value !== 'object' || value === null) return value
  if ('_bsontype' in value) return bsonView(value as BsonValue)
  const result: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    addMemberView(result, name, member, `${path}.${name}`, showing)
  }
  // Clients know an empty object as an empty list.
  return Object.keys(result).length === 0 ? [] : result
}

interface BsonValue {
  readonly _bsontype: unknown
  toString(): string
  readonly collection?: unknown
  readonly oid?: unknown
}

/** Values of the driver that are none of JavaScript's own. */
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

/** As a number if that is the same one. */
function numberOrText(text: string): number | string {
  const number = Number(text)
  return String(number) === text ? number : text
}

function dateView(date: Date, key: string, path: string, showing: ViewOptions): unknown {
  const atMs = date.getTime()
  if (Number.isNaN(atMs)) return null
  const { timeZone, dates } = showing
  if (timeZone !== null && (TEXT_DATES.has(key) || dates.has(path))) {
    return dateText(atMs, timeZone)
  }
  const sec = Math.floor(atMs / 1000)
  return { sec, usec: (atMs - sec * 1000) * 1000 }
}

/** `2026-01-31T10:00:00+0200`: the wall clock of a zone, and how far that is from UTC. */
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

/** Answer to a read. Clients and their tests look for `status` in front. */
export function readEnvelope(rows: readonly object[], nextPage: boolean) {
  return { status: 1, next_page: nextPage, details: rows }
}

/**
 * Answer to a write: what the action did, the document after it, and what else an action tells
 * (`line`, `totalUpdated`), which never replaces one of these.
 */
export function writeEnvelope(
  details: unknown,
  entity: unknown,
  more: Fields = {},
): Record<string, unknown> {
  const envelope = { status: 1, details, entity }
  return { ...envelope, ...more, ...envelope }
}
