/** Parses dates in the formats that clients use. */
import type { Fields } from '../domain/fields.ts'
import { instantOf, localTime, parseInstant } from '../domain/time.ts'
import { endOf } from '../rating/periods.ts'

export interface TimeContext {
  /** Time zone of the installation, for texts without a zone. */
  readonly timeZone: string
  readonly nowMs: number
}

const YEAR_10000_MS = Date.UTC(10_000, 0, 1)
const UNIX_SECONDS = /^\d{9,11}$/
const FULL_ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/
const FULL_ISO_LENGTH_MAX = 35

/**
 * A date: a text (ISO 8601, a day, a day and time, or words such as `tomorrow +6 days`), unix
 * seconds, or `{sec, usec}`. Null for anything else, and outside of the years 1970 to 9999.
 */
export function dateOf(value: unknown, { timeZone, nowMs }: TimeContext): Date | null {
  const atMs = instantFrom(value, timeZone, nowMs)
  if (atMs === null || !(atMs > 0 && atMs < YEAR_10000_MS)) return null
  return new Date(atMs)
}

/** Description of the accepted formats, for error texts. */
export const DATES = "a date such as '2026-01-31', '2026-01-31T10:00:00Z' or unix seconds"

function instantFrom(value: unknown, timeZone: string, nowMs: number): number | null {
  if (typeof value === 'number') return Math.round(value * 1000)
  if (typeof value === 'string') {
    const text = value.trim()
    if (UNIX_SECONDS.test(text)) return Number(text) * 1000
    return parseInstant(text, timeZone) ?? relativeInstant(text, timeZone, nowMs)
  }
  return secUsecInstant(value)
}

/** Epoch ms of `{sec, usec}`, the format of dates in responses; null for anything else. */
export function secUsecInstant(value: unknown): number | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const { sec, usec = 0, ...others } = value as Fields
  if (Object.keys(others).length > 0) return null
  const [seconds, micros] = [wholeNumber(sec), wholeNumber(usec)]
  if (seconds === null || micros === null || micros < 0 || micros > 999_999) return null
  return Math.abs(seconds) > YEAR_10000_MS / 1000
    ? null
    : seconds * 1000 + Math.floor(micros / 1000)
}

function wholeNumber(value: unknown): number | null {
  const number = typeof value === 'string' && /^-?\d{1,12}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : null
}

/** A complete ISO 8601 timestamp with `T` and a zone; null for any other text. */
export function fullTimestamp(text: string): Date | null {
  if (text.length > FULL_ISO_LENGTH_MAX || !FULL_ISO.test(text)) return null
  const atMs = parseInstant(text, 'UTC')
  return atMs === null ? null : new Date(atMs)
}

const DAYS: Readonly<Record<string, number>> = { today: 0, tomorrow: 1, yesterday: -1 }
const HOURS: Readonly<Record<string, number>> = { midnight: 0, noon: 12 }
const UNITS: Readonly<Record<string, readonly ['months' | 'days' | 'seconds', number]>> = {
  sec: ['seconds', 1],
  second: ['seconds', 1],
  min: ['seconds', 60],
  minute: ['seconds', 60],
  hour: ['seconds', 3600],
  day: ['days', 1],
  week: ['days', 7],
  month: ['months', 1],
  year: ['months', 12],
}
const TOKEN = /\s*(?:([+-])?\s*(\d{1,9})\s*([a-z]+)|([a-z]+))/iy
const RELATIVE_LENGTH_MAX = 100
const MONTHS_MAX = 120_000
const [DAY_MS, MONTH_MS, YEAR_MS] = [86_400_000, 2_629_746_000, 31_556_952_000]

/**
 * `now`, `today`, `midnight`, `noon`, `tomorrow`, `yesterday`, `+2 weeks`, `-1 month +3 days`,
 * `tomorrow +6 days`. Days and longer units are calendar units: a month later is the same day of
 * the month, or the last day of a shorter month. Hours and shorter units are elapsed time.
 */
export function relativeInstant(text: string, timeZone: string, nowMs: number): number | null {
  if (text === '' || text.length > RELATIVE_LENGTH_MAX) return null
  const shift = { months: 0, days: 0, seconds: 0 }
  let hour: number | undefined
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
    const [, sign, count, unit = '', word] = TOKEN.exec(text) ?? []
    if (count !== undefined) {
      const name = unit.toLowerCase()
      const known = own(UNITS, name) ?? own(UNITS, name.replace(/s$/, ''))
      if (known === undefined) return null
      shift[known[0]] += known[1] * Number(count) * (sign === '-' ? -1 : 1)
    } else {
      if (word === undefined) return null
      const name = word.toLowerCase()
      const days = own(DAYS, name)
      if (days === undefined && own(HOURS, name) === undefined && name !== 'now') return null
      shift.days += days ?? 0
      // A day word means midnight, unless another hour is given.
      hour = own(HOURS, name) ?? (days === undefined ? hour : (hour ?? 0))
    }
  }
  return shifted(shift, hour, timeZone, nowMs)
}

function shifted(
  { months, days, seconds }: { months: number; days: number; seconds: number },
  hour: number | undefined,
  timeZone: string,
  nowMs: number,
): number | null {
  // Limits the numbers to the range that the calendar functions support.
  if (Math.abs(months) > MONTHS_MAX) return null
  const aboutMs = nowMs + months * MONTH_MS + days * DAY_MS
  if (aboutMs < -YEAR_MS || aboutMs > YEAR_10000_MS + YEAR_MS) return null
  const period = { months, days, hours: 0, untilMidnight: hour !== undefined }
  const isShifted = months !== 0 || days !== 0 || hour !== undefined
  const begin = isShifted ? endOf(period, nowMs, timeZone) : nowMs
  if (hour === undefined || hour === 0) return begin + seconds * 1000
  const atHour = instantOf(timeZone, { ...localTime(timeZone, begin), hour, minute: 0, second: 0 })
  return atHour + seconds * 1000
}

function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
