/**
 * Reads the event time of a message. An unreadable time is an error and never replaced by the
 * current time.
 */
import { FieldError, type Fields, isUnset, textAt } from '../domain/fields.ts'
import { parseCommonInstant, parseInstant } from '../domain/time.ts'
import type { DecodeErrors } from './decode-errors.ts'
import type { MapContext, Message, ParserSettings } from './file-type.ts'
import { optionalPathAt, type Path } from './paths.ts'
import { compileDateFormat, type DateReader } from './php-dates.ts'
import { instantIn, type Zone, zoneOf } from './zones.ts'

export const DATE_KEYS = [
  'date_field',
  'date_format',
  'date_beyond',
  'time_field',
  'time_format',
  'timezone',
  'timezone_field',
]

/** Event time in epoch ms; -1 if the message has none. */
export type EventTime = (message: Message, context: MapContext, errors: DecodeErrors) => number

/** Seconds between the NTP epoch (1900) and the Unix epoch. */
const NTP_TO_UNIX = 2_208_988_800
const NTP_FORMAT = 'ntp'
/** NTP seconds from 1968 on; Unix seconds reach this value in 2038. */
const NTP_FROM = 2 ** 31
const CHARS_MAX = 80

/** `zone`: IANA zone of dates without an offset. Throws `FieldError`. */
export function compileEventTime(
  processor: Fields,
  path: string,
  parser: ParserSettings['type'],
  zone: string,
): EventTime {
  const date = optionalPathAt(processor['date_field'], `${path}.date_field`)
  const time = optionalPathAt(processor['time_field'], `${path}.time_field`)
  const zoneFor = compileZone(processor, path, zone)
  if (date === null) {
    const other = DATE_KEYS.find((key) => key !== 'date_field' && !isUnset(processor[key]))
    if (other !== undefined) throw new FieldError(`${path}.${other}`, 'needs date_field')
    return () => -1
  }
  const { read, expected } = compileFormat(processor, path, parser)
  const isNowBeyond = beyondAt(processor['date_beyond'], `${path}.date_beyond`)
  return (message, context, errors) => {
    const text = textFrom(date, time, message)
    if (text === '') return -1
    const zoneOfText = zoneFor(message, errors)
    const atMs = text === null ? null : read(text, zoneOfText)
    if (atMs === null || !Number.isFinite(atMs)) errors.fail(date.name, expected)
    else if (isNowBeyond && isBeyond(atMs, context)) return -1
    else if (atMs < context.nowMs - context.eventAgeMsMax) {
      errors.fail(date.name, 'is too far in the past')
    } else if (atMs > context.nowMs + context.eventFutureMsMax) {
      errors.fail(date.name, 'is in the future')
    } else return atMs
    return -1
  }
}

/** Whether a date beyond the limits is replaced by the current time; otherwise it is an error. */
function beyondAt(value: unknown, path: string): boolean {
  if (isUnset(value) || value === 'refuse') return false
  if (value === 'now') return true
  throw new FieldError(path, "must be 'refuse' or 'now'")
}

function isBeyond(atMs: number, { nowMs, eventAgeMsMax, eventFutureMsMax }: MapContext): boolean {
  return atMs < nowMs - eventAgeMsMax || atMs > nowMs + eventFutureMsMax
}

/** Date and time separated by a blank; empty if there is no date, null if it is not a text. */
function textFrom(date: Path, time: Path | null, message: Message): string | null {
  const first = scalarText(date.in(message))
  if (first === '' || first === null || time === null) return first
  const second = scalarText(time.in(message))
  if (second === null) return null
  return second === '' ? first : `${first} ${second}`
}

function scalarText(value: unknown): string | null {
  if (value === undefined) return ''
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value.length <= CHARS_MAX ? value : null
}

function compileZone(
  processor: Fields,
  path: string,
  zone: string,
): (message: Message, errors: DecodeErrors) => Zone {
  const fixed = processor['timezone']
  const field = optionalPathAt(processor['timezone_field'], `${path}.timezone_field`)
  if (!isUnset(fixed)) {
    const given = zoneOf(textAt(fixed, `${path}.timezone`))
    if (given !== null) return () => given
    throw new FieldError(`${path}.timezone`, `is not a time zone: ${fixed}`)
  }
  if (field === null) return () => zone
  return (message, errors) => {
    const name = field.in(message)
    if (name === undefined || name === '') return zone
    const given = typeof name === 'string' ? zoneOf(name) : null
    if (given === null) errors.fail(field.name, 'is not a time zone')
    return given ?? zone
  }
}

interface Format {
  read: DateReader
  /** Expected format, for the error. */
  expected: string
}

function compileFormat(processor: Fields, path: string, parser: ParserSettings['type']): Format {
  const format = processor['date_format']
  const timeFormat = processor['time_format']
  if (isUnset(format)) {
    if (!isUnset(timeFormat)) throw new FieldError(`${path}.time_format`, 'needs date_format')
    const isNtp = parser === 'diameter'
    return { read: (text, zone) => readFree(text, zone, isNtp), expected: FREE }
  }
  const dateFormat = textAt(format, `${path}.date_format`)
  const isTimed = !isUnset(processor['time_field'])
  if (dateFormat === NTP_FORMAT) {
    if (isTimed)
      throw new FieldError(`${path}.time_field`, 'cannot be combined with date_format ntp')
    return { read: readNtp, expected: 'must be seconds since 1900' }
  }
  if (isTimed !== !isUnset(timeFormat)) {
    const missing = isTimed ? 'time_format' : 'time_field'
    const names = isTimed ? 'time_field and date_format' : 'time_format'
    throw new FieldError(`${path}.${missing}`, `is missing beside ${names}`, 'missing')
  }
  if (!isTimed) {
    const read = orUnix(compileDateFormat(dateFormat, `${path}.date_format`))
    return { read, expected: `must be a date as ${dateFormat}` }
  }
  const timed = textAt(timeFormat, `${path}.time_format`)
  const whole = `${dateFormat} ${timed}`
  return { read: compileTimed(dateFormat, timed, path), expected: `must be a date as ${whole}` }
}

/** Compiles the date separately first, so that errors name the right key. */
function compileTimed(dateFormat: string, timeFormat: string, path: string): DateReader {
  compileDateFormat(dateFormat, `${path}.date_format`)
  return compileDateFormat(`${dateFormat} ${timeFormat}`, `${path}.time_format`)
}

const FREE = 'must be ISO 8601, YYYY-MM-DD HH:MM:SS, YYYYMMDDHHMMSS or unix seconds'
const SECONDS = /^\d{1,11}(?:\.\d{1,9})?$/
const COMPACT = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})$/

/** Unix seconds of these decades are accepted in addition to any format. */
const UNIX = /^\d{10}(?:\.\d{1,9})?$/

function orUnix(read: DateReader): DateReader {
  return (text, zone) => {
    const atMs = read(text, zone)
    return atMs === null && UNIX.test(text) ? Math.round(Number(text) * 1000) : atMs
  }
}

function readNtp(text: string): number | null {
  return SECONDS.test(text) ? Math.round((Number(text) - NTP_TO_UNIX) * 1000) : null
}

function readFree(text: string, zone: Zone, isNtp: boolean): number | null {
  const usual = parseCommonInstant(text)
  if (usual >= 0) return usual
  if (SECONDS.test(text)) {
    const seconds = Number(text)
    return isNtp && seconds >= NTP_FROM ? readNtp(text) : Math.round(seconds * 1000)
  }
  const compact = COMPACT.test(text) ? text.replace(COMPACT, '$1-$2-$3 $4:$5:$6') : text
  // Times without an offset are parsed as UTC and then moved to their zone.
  const asUtc = parseInstant(compact, 'UTC')
  if (asUtc === null || zone === 'UTC' || ENDS_WITH_OFFSET.test(compact)) return asUtc
  const wall = new Date(asUtc)
  const local = {
    year: wall.getUTCFullYear(),
    month: wall.getUTCMonth() + 1,
    day: wall.getUTCDate(),
    hour: wall.getUTCHours(),
    minute: wall.getUTCMinutes(),
    second: wall.getUTCSeconds(),
  }
  return instantIn(zone, local) + wall.getUTCMilliseconds()
}

const ENDS_WITH_OFFSET = /(?:Z|[+-]\d{2}:?\d{2})$/
