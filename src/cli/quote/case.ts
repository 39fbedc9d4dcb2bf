/**
 * One case of the tariff bench: what stands in its JSON, read strictly. A key that nothing reads is
 * refused: it would be a price that somebody meant and nobody applies.
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
  /** What is expected of each event; null if nothing is. */
  expect: readonly Fields[] | null
}

/** Documents as they are written, without dates read. */
export type CaseCatalogue = Readonly<Record<CatalogueKey, readonly Fields[]>>
export type CatalogueKey = (typeof CATALOGUE_KEYS)[number]

export interface CaseSubscriber {
  /** Where it stands in the case. */
  path: string
  document: Fields
  buckets: readonly CaseBucket[]
}

export interface CaseBucket {
  path: string
  includeId: number
  /** Units or money, not negative. */
  value: ExactDecimal
  /** Dates as they are written. */
  from: unknown
  to: unknown
}

export interface CaseEvent {
  path: string
  /** Null: the first subscriber. */
  sid: number | null
  usaget: string
  /** Negative: the price of the size, taken back. */
  usagev: ExactDecimal
  /** Empty: the rate is matched. */
  rateKey: string
  calledNumber: string
  ratingGroup: number
  /** Begin and end as they are written; an absent end is the begin. */
  urt: unknown
  eurt: unknown
  /** All of it or nothing. */
  isOneShot: boolean
  isRefund: boolean
  /** Empty if none. */
  sessionId: string
  /** Further fields of the request, for matching. */
  fields: Readonly<Record<string, string>>
}

const CATALOGUE_KEYS = ['rates', 'plans', 'services', 'prepaidincludes', 'taxes'] as const
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

/** The name of a case, or the other one if it has none that could be shown. */
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
    catalogue: catalogueAt(fields['catalogue']),
    account: fields['account'] === undefined ? null : objectAt(fields['account'], 'account'),
    subscribers: subscribersAt(fields),
    settings,
    events: listAt(fields['events'], 'events').map((event, index) =>
      eventAt(event, `events.${index}`, needed),
    ),
    expect: fields['expect'] === undefined ? null : listAt(fields['expect'], 'expect'),
  }
}

/** Refuses keys that nothing reads. */
export function onlyKeys(fields: Fields, path: string, known: readonly string[]): void {
  for (const key of Object.keys(fields)) {
    if (!known.includes(key)) throw new FieldError(within(path, key), 'is not known')
  }
}

/** A path below another one. */
export function within(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

function listAt(value: unknown, path: string): readonly Fields[] {
  return arrayAt(value, path).map((entry, index) => objectAt(entry, `${path}.${index}`))
}

function catalogueAt(value: unknown): CaseCatalogue {
  const fields = objectAt(value, 'catalogue')
  onlyKeys(fields, 'catalogue', CATALOGUE_KEYS)
  const listed = CATALOGUE_KEYS.map((key): [CatalogueKey, readonly Fields[]] => [
    key,
    fields[key] === undefined ? [] : listAt(fields[key], `catalogue.${key}`),
  ])
  return Object.fromEntries(listed) as Record<CatalogueKey, readonly Fields[]>
}

function subscribersAt(fields: Fields): CaseSubscriber[] {
  const { subscriber, subscribers } = fields
  if (subscriber !== undefined && subscribers !== undefined) {
    throw new FieldError('subscribers', "cannot stand beside 'subscriber'")
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
    throw new FieldError(`${path}.session_id`, 'is missing: it names the event to be refunded')
  }
  return read
}

/** What matching is configured to read: `uf` of the event, and the fields beside the known ones. */
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

/** A text, or a number as text; absent: empty. */
function plainAt(value: unknown, path: string): string {
  if (value === undefined) return ''
  if (typeof value === 'string' || Number.isSafeInteger(value)) return String(value)
  throw new FieldError(path, 'must be a text')
}

/** Digits after the point that units may have. */
export const UNIT_DIGITS_MAX = 6

function decimalAt(value: unknown, path: string): ExactDecimal {
  if (value === undefined) throw new FieldError(path, 'is missing')
  const decimal = decimalOf(value)
  if (decimal === null) throw new FieldError(path, 'must be a number or decimal text')
  atMostDecimals(value, decimal, path, UNIT_DIGITS_MAX)
  return decimal
}
