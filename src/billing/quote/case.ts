/**
 * Parses one case strictly. An unknown key is an error: it could be a price that would silently not
 * apply.
 */
import {
  arrayAt,
  atMostDecimals,
  booleanAt,
  choiceAt,
  decimalOf,
  FieldError,
  type Fields,
  objectAt,
  textAt,
  wholeAt,
} from '../../domain/fields.ts'
import type { ExactDecimal } from '../../domain/money.ts'
import { type QuoteSettings, settingsAt } from './settings.ts'

export interface QuoteCase {
  name: string
  catalogue: CaseCatalogue
  account: Fields | null
  subscribers: readonly CaseSubscriber[]
  settings: QuoteSettings
  events: readonly CaseEvent[]
  /** Expected result of each event; null if the case has none. */
  expect: readonly Fields[] | null
  /** Documents beside those of the case: they may name rates that it does not have. */
  assumed?: ReadonlySet<Fields>
}

/** Documents as written, before dates are parsed. */
export type CaseCatalogue = Readonly<Record<CatalogueKey, readonly Fields[]>>
export type CatalogueKey = (typeof CATALOGUE_KEYS)[number]

export interface CaseSubscriber {
  /** Path in the case. */
  path: string
  document: Fields
  buckets: readonly CaseBucket[]
}

export interface CaseBucket {
  path: string
  includeId: number
  /** Units or money, not negative. */
  value: ExactDecimal
  /** Dates as written. */
  from: unknown
  to: unknown
}

export interface CaseEvent {
  path: string
  /** Null for the first subscriber. */
  sid: number | null
  usaget: string
  /** A negative volume is priced by its size and credited. */
  usagev: ExactDecimal
  /** Empty if the rate is to be matched. */
  rateKey: string
  calledNumber: string
  ratingGroup: number
  /** Begin and end as written; the end defaults to the begin. */
  urt: unknown
  eurt: unknown
  /** Whether the volume is charged completely or not at all. */
  isOneShot: boolean
  isRefund: boolean
  /** Empty if none. */
  sessionId: string
  /** Further fields of the request, for matching. */
  fields: Readonly<Record<string, string>>
}

export const CATALOGUE_KEYS = ['rates', 'plans', 'services', 'prepaidincludes', 'taxes'] as const
const CASE_KEYS = [
  'name',
  'catalogue',
  'account',
  'subscriber',
  'subscribers',
  'config',
  'events',
  'expect',
]
const BUCKET_KEYS = ['pp_includes_external_id', 'value', 'from', 'to']
const EVENT_KEYS = [
  'sid',
  'usaget',
  'usagev',
  'rate',
  'called_number',
  'rating_group',
  'urt',
  'eurt',
  'record_type',
  'refund',
  'session_id',
  'uf',
]

/** The name of a case, or `otherwise` if it has none that can be shown. */
export function nameOf(value: unknown, otherwise: string): string {
  const isObject = typeof value === 'object' && value !== null
  const name = isObject ? (value as Fields)['name'] : undefined
  return typeof name === 'string' && name !== '' ? name : otherwise
}

/** Throws `FieldError` with the path of the first field that cannot be used. */
export function readCase(value: unknown, defaults: QuoteSettings): QuoteCase {
  const fields = objectAt(value, '')
  onlyKeys(fields, '', CASE_KEYS)
  const settings = settingsAt(fields['config'], defaults)
  const { calculators } = settings
  const needed = [...EVENT_KEYS, ...calculators.fieldsNeeded()]
  return {
    name: fields['name'] === undefined ? '' : textAt(fields['name'], 'name'),
    catalogue: catalogueAt(fields['catalogue'], 'catalogue'),
    account: fields['account'] === undefined ? null : objectAt(fields['account'], 'account'),
    subscribers: subscribersAt(fields),
    settings,
    events: listAt(fields['events'], 'events').map((event, index) =>
      eventAt(event, `events.${index}`, needed),
    ),
    expect: fields['expect'] === undefined ? null : listAt(fields['expect'], 'expect'),
  }
}

/** Throws `FieldError` for an unknown key. */
export function onlyKeys(fields: Fields, path: string, known: readonly string[]): void {
  for (const key of Object.keys(fields)) {
    if (!known.includes(key)) throw new FieldError(within(path, key), 'is not known', 'unknown')
  }
}

/** The path of a member. */
export function within(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

function listAt(value: unknown, path: string): readonly Fields[] {
  return arrayAt(value, path).map((entry, index) => objectAt(entry, `${path}.${index}`))
}

/** Lists of documents. Throws `FieldError` with a path below `path`. */
export function catalogueAt(value: unknown, path: string): CaseCatalogue {
  const fields = objectAt(value, path)
  onlyKeys(fields, path, CATALOGUE_KEYS)
  const listed = CATALOGUE_KEYS.map((key): [CatalogueKey, readonly Fields[]] => [
    key,
    fields[key] === undefined ? [] : listAt(fields[key], `${path}.${key}`),
  ])
  return Object.fromEntries(listed) as Record<CatalogueKey, readonly Fields[]>
}

function subscribersAt(fields: Fields): CaseSubscriber[] {
  const { subscriber, subscribers } = fields
  if (subscriber !== undefined && subscribers !== undefined) {
    throw new FieldError('subscribers', "cannot be combined with 'subscriber'")
  }
  if (subscribers === undefined) return [subscriberAt(subscriber, 'subscriber')]
  const listed = arrayAt(subscribers, 'subscribers')
  if (listed.length === 0) throw new FieldError('subscribers', 'must have at least one')
  return listed.map((one, index) => subscriberAt(one, `subscribers.${index}`))
}

function subscriberAt(value: unknown, path: string): CaseSubscriber {
  const { buckets, ...document } = objectAt(value, path)
  const listed = buckets === undefined ? [] : listAt(buckets, `${path}.buckets`)
  return {
    path,
    document,
    buckets: listed.map((bucket, index) => bucketAt(bucket, `${path}.buckets.${index}`)),
  }
}

function bucketAt(bucket: Fields, path: string): CaseBucket {
  onlyKeys(bucket, path, BUCKET_KEYS)
  const includeId = wholeAt(bucket['pp_includes_external_id'], `${path}.pp_includes_external_id`, 1)
  const value = decimalAt(bucket['value'], `${path}.value`)
  if (value.digits < 0n) {
    throw new FieldError(`${path}.value`, `must not be negative, is ${bucket['value']}`)
  }
  return { path, includeId, value, from: bucket['from'], to: bucket['to'] }
}

function eventAt(event: Fields, path: string, known: readonly string[]): CaseEvent {
  onlyKeys(event, path, known)
  const { sid, rate, urt, eurt } = event
  const isRefund = booleanAt(event['refund'], `${path}.refund`, false)
  const recordType = choiceAt(event['record_type'], `${path}.record_type`, [
    'session',
    'event_request',
  ])
  const read: CaseEvent = {
    path,
    sid: sid === undefined ? null : wholeAt(sid, `${path}.sid`, 1),
    usaget: isRefund ? '' : textAt(event['usaget'], `${path}.usaget`),
    usagev: isRefund ? { digits: 0n, scale: 0 } : decimalAt(event['usagev'], `${path}.usagev`),
    rateKey: rate === undefined ? '' : textAt(rate, `${path}.rate`),
    calledNumber: plainAt(event['called_number'], `${path}.called_number`),
    ratingGroup:
      event['rating_group'] === undefined
        ? -1
        : wholeAt(event['rating_group'], `${path}.rating_group`, 0),
    urt,
    eurt,
    isOneShot: isRefund || recordType === 'event_request',
    isRefund,
    sessionId: plainAt(event['session_id'], `${path}.session_id`),
    fields: requestFieldsAt(event, path),
  }
  if (isRefund && read.sessionId === '') {
    throw new FieldError(
      `${path}.session_id`,
      'is missing: it names the event to be refunded',
      'missing',
    )
  }
  return read
}

/** Fields that rate matching reads: `uf` of the event, and its other fields. */
function requestFieldsAt(event: Fields, path: string): Record<string, string> {
  const own = Object.keys(event).filter((name) => !EVENT_KEYS.includes(name))
  const fields: Record<string, string> = {}
  for (const name of own) fields[name] = plainAt(event[name], `${path}.${name}`)
  if (event['uf'] === undefined) return fields
  for (const [name, value] of Object.entries(objectAt(event['uf'], `${path}.uf`))) {
    fields[name] = plainAt(value, `${path}.uf.${name}`)
  }
  return fields
}

/** A text, or an integer as text; empty if absent. */
function plainAt(value: unknown, path: string): string {
  if (value === undefined) return ''
  if (typeof value === 'string' || Number.isSafeInteger(value)) return String(value)
  throw new FieldError(path, 'must be a text')
}

/** Digits after the point that units may have. */
export const UNIT_DIGITS_MAX = 6

function decimalAt(value: unknown, path: string): ExactDecimal {
  if (value === undefined) throw new FieldError(path, 'is missing', 'missing')
  const decimal = decimalOf(value)
  if (decimal === null) throw new FieldError(path, 'must be a number or decimal text')
  atMostDecimals(value, decimal, path, UNIT_DIGITS_MAX)
  return decimal
}

/** Maximal nesting of objects and lists, as for documents in the store. */
const DEPTH_MAX = 100

/**
 * Returns the value, or a copy if it has dates in the format of the entity API, `{ sec, usec }`.
 * Throws `FieldError` with the path of what is nested too deep.
 */
export function plainCase(value: unknown): unknown {
  return plain(value, '', 0)
}

function plain(value: unknown, path: string, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEPTH_MAX) {
    throw new FieldError(path, `is nested deeper than ${DEPTH_MAX} objects and lists`)
  }
  const date = dateText(value)
  if (date !== null) return date
  const entries = Object.entries(value)
  const parts = entries.map(([key, part]) =>
    typeof part === 'object' ? plain(part, within(path, key), depth + 1) : part,
  )
  if (parts.every((part, index) => part === entries[index]?.[1])) return value
  if (Array.isArray(value)) return parts
  return Object.fromEntries(entries.map(([key], index) => [key, parts[index]]))
}

/** Null if the value is not a valid date. */
function dateText(value: object): string | null {
  const { sec, usec } = value as { sec?: unknown; usec?: unknown }
  if (typeof sec !== 'number' || typeof usec !== 'number') return null
  if (Object.keys(value).length !== 2) return null
  const date = new Date(sec * 1000 + usec / 1000)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}
