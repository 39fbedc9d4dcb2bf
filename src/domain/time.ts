/**
 * Calendar arithmetic in a time zone. Periods are half-open [from, to). Instants are epoch ms and
 * always passed in: this file reads no clock.
 */
import { codeAt, lengthOf } from './text-codes.ts'

/** End of an unlimited period: the year 2170, as in revisions of existing installations. */
export const FOREVER_MS = Date.UTC(2170, 0, 1)

/** Start of a period without a begin, such as a document without `from`. */
export const NO_BEGIN_MS = 0

/** Local date and time of an instant; month 1 to 12. */
export interface LocalTime {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
}

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterFor(zone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(zone)
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    formatters.set(zone, formatter)
  }
  return formatter
}

/** Local time of an IANA zone at an instant. Throws `RangeError` for an unknown zone. */
export function localTime(zone: string, atMs: number): LocalTime {
  const date = new Date(atMs + offsetMs(zone, atMs))
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  }
}

/**
 * The instant of a local time in a zone. A time that daylight saving skips is moved forward by the
 * length of the gap; for one that occurs twice, the first instant is returned.
 */
export function instantOf(zone: string, local: LocalTime): number {
  const localMs = asUtc(local)
  const before = localMs - offsetMs(zone, localMs - DAY_MS)
  const after = localMs - offsetMs(zone, localMs + DAY_MS)
  const candidates = before <= after ? [before, after] : [after, before]
  for (const candidate of candidates) {
    if (candidate + offsetMs(zone, candidate) === localMs) return candidate
  }
  return before
}

function asUtc({ year, month, day, hour, minute, second }: LocalTime): number {
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

const DAY_MS = 86_400_000

/** A day of UTC: how far the clock of a zone is ahead, and from when differently (or Infinity). */
interface ZoneDay {
  aheadMs: number
  changeMs: number
  thenAheadMs: number
}

/** Days in memory, of all zones. */
const DAYS_MAX = 20_000
const zoneDays = new Map<string, Map<number, ZoneDay>>()
let daysKept = 0

/** How far local time is ahead of UTC. */
export function offsetMs(zone: string, atMs: number): number {
  if (zone === 'UTC') return 0
  const { aheadMs, changeMs, thenAheadMs } = dayOf(zone, Math.floor(atMs / DAY_MS))
  return atMs < changeMs ? aheadMs : thenAheadMs
}

/** The first change of the clock in a period (fromMs, toMs], or Infinity. */
export function clockChangeAfter(zone: string, fromMs: number, toMs: number): number {
  if (zone === 'UTC') return Number.POSITIVE_INFINITY
  for (let day = Math.floor(fromMs / DAY_MS); day * DAY_MS < toMs; day += 1) {
    const { changeMs } = dayOf(zone, day)
    if (changeMs > fromMs && changeMs <= toMs) return changeMs
  }
  return Number.POSITIVE_INFINITY
}

function dayOf(zone: string, day: number): ZoneDay {
  const known = zoneDays.get(zone)?.get(day)
  if (known !== undefined) return known
  const found = readDay(zone, day * DAY_MS)
  if (daysKept >= DAYS_MAX) {
    zoneDays.clear()
    daysKept = 0
  }
  daysKept += 1
  const days = zoneDays.get(zone) ?? new Map<number, ZoneDay>()
  zoneDays.set(zone, days.set(day, found))
  return found
}

/** Assumes at most one change of the clock in a day. */
function readDay(zone: string, beginMs: number): ZoneDay {
  const aheadMs = readOffset(zone, beginMs)
  const thenAheadMs = readOffset(zone, beginMs + DAY_MS)
  if (aheadMs === thenAheadMs) return { aheadMs, changeMs: Number.POSITIVE_INFINITY, thenAheadMs }
  // The change is after `low` and not after `high`; zones change at whole seconds.
  let [low, high] = [beginMs / 1000, (beginMs + DAY_MS) / 1000]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (readOffset(zone, middle * 1000) === aheadMs) low = middle
    else high = middle
  }
  return { aheadMs, changeMs: high * 1000, thenAheadMs }
}

/** From the database of time zones; takes several µs. */
function readOffset(zone: string, atMs: number): number {
  const parts: Record<string, number> = {}
  for (const part of formatterFor(zone).formatToParts(atMs)) {
    if (part.type !== 'literal') parts[part.type] = Number(part.value)
  }
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return asUtc({ year, month, day, hour, minute, second }) - atMs
}

const DATE = /(\d{4})-(\d{2})-(\d{2})/
const TIME = /(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?/
const OFFSET = /Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d/
const ISO = new RegExp(`^${DATE.source}(?:[T ]${TIME.source})?(${OFFSET.source})?$`)

/**
 * Reads `YYYY-MM-DD`, `YYYY-MM-DD HH:MM:SS` or ISO 8601. Without an offset it is local time in the
 * zone. Null if it is not such a text or not a valid date.
 */
export function parseInstant(text: string, zone: string): number | null {
  const match = ISO.exec(text)
  if (match === null) return null
  const number = (index: number) => Number(match[index] ?? 0)
  const local = {
    year: number(1),
    month: number(2),
    day: number(3),
    hour: number(4),
    minute: number(5),
    second: number(6),
  }
  if (!isRealDate(local)) return null
  const millis = match[7] === undefined ? 0 : Math.floor(Number(`0.${match[7]}`) * 1000)
  const offset = match[8]
  if (offset === undefined) return instantOf(zone, local) + millis
  return asUtc(local) + millis - parseOffsetMs(offset)
}

/** Layout of `2026-11-21T10:00:00Z`. */
const USUAL_LENGTH = 20
const [DASH, COLON, T, Z] = [0x2d, 0x3a, 0x54, 0x5a] as const

/**
 * Parses the format of nearly all network elements, without a regular expression; -1 for any other
 * format, an invalid date, or a date before 1970.
 */
export function parseCommonInstant(text: string): number {
  if (lengthOf(text) !== USUAL_LENGTH || codeAt(text, 19) !== Z) return -1
  if (codeAt(text, 4) !== DASH || codeAt(text, 7) !== DASH) return -1
  if (codeAt(text, 10) !== T) return -1
  if (codeAt(text, 13) !== COLON || codeAt(text, 16) !== COLON) return -1
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  const month = twoDigits(text, 5)
  const day = twoDigits(text, 8)
  const hour = twoDigits(text, 11)
  const minute = twoDigits(text, 14)
  const second = twoDigits(text, 17)
  // A non-digit is NaN, for which every comparison is false.
  if (!(year >= 1970 && month >= 1 && month <= 12 && day >= 1)) return -1
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return -1
  if (!(day <= 28 || day <= daysIn(year, month))) return -1
  return ((daysTo(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000
}

/** Days from 1970 to a date; four times faster than Date.UTC. */
function daysTo(year: number, month: number, day: number): number {
  // Years start in March here, so that a leap day is their last day.
  const from = month > 2 ? year : year - 1
  const inYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const leapDays = Math.floor(from / 4) - Math.floor(from / 100) + Math.floor(from / 400)
  return from * 365 + leapDays + inYear - DAYS_TO_1970
}

/** Days from 0000-03-01 to 1970-01-01. */
const DAYS_TO_1970 = 719_468

function twoDigits(text: string, at: number): number {
  const tens = codeAt(text, at) - 0x30
  const ones = codeAt(text, at + 1) - 0x30
  if (tens < 0 || tens > 9 || ones < 0 || ones > 9) return Number.NaN
  return tens * 10 + ones
}

function isRealDate(local: LocalTime): boolean {
  const { year, month, day, hour, minute, second } = local
  // Date.UTC maps years below 100 to the twentieth century.
  if (year < 100 || month < 1 || month > 12) return false
  if (hour > 23 || minute > 59 || second > 59) return false
  return day >= 1 && day <= daysIn(year, month)
}

function parseOffsetMs(offset: string): number {
  if (offset === 'Z') return 0
  const sign = offset.startsWith('-') ? -1 : 1
  const digits = offset.slice(1).replace(':', '')
  return sign * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2, 4))) * 60_000
}

/** Days of a month; month 1 to 12. */
export function daysIn(year: number, month: number): number {
  return [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0
}

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
}
