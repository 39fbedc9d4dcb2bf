/** Formats of `$dateToString`. */
import { MongoCommandError, notImplemented } from '../errors.ts'

const DEFAULT_FORMAT = '%Y-%m-%dT%H:%M:%S.%LZ'
const DAY_MS = 86_400_000
/** Offsets of time zones, and therefore days, begin at such times. */
const STEP_MS = 15 * 60_000
const STEPS_CACHED_MAX = 20_000

/** The local time as if it were UTC, and its distance from UTC. */
type Local = { readonly date: Date; readonly offsetMs: number }
type Part = (local: Local) => string

const two = (value: number) => String(value).padStart(2, '0')
const three = (value: number) => String(value).padStart(3, '0')

/** Parts that do not change within a day. */
const DAY_PARTS: Readonly<Record<string, Part>> = {
  Y: ({ date }) => String(date.getUTCFullYear()).padStart(4, '0'),
  m: ({ date }) => two(date.getUTCMonth() + 1),
  d: ({ date }) => two(date.getUTCDate()),
  j: ({ date }) => three(dayOfYear(date)),
  u: ({ date }) => String(isoWeekday(date)),
  w: ({ date }) => String(date.getUTCDay() + 1),
  G: ({ date }) => String(thursdayOf(date).getUTCFullYear()).padStart(4, '0'),
  V: ({ date }) => two(Math.ceil(dayOfYear(thursdayOf(date)) / 7)),
}

const TIME_PARTS: Readonly<Record<string, Part>> = {
  H: ({ date }) => two(date.getUTCHours()),
  M: ({ date }) => two(date.getUTCMinutes()),
  S: ({ date }) => two(date.getUTCSeconds()),
  L: ({ date }) => three(date.getUTCMilliseconds()),
  z: ({ offsetMs }) => offsetText(offsetMs),
  Z: ({ offsetMs }) => String(Math.trunc(offsetMs / 60_000)),
}

const PARTS = { ...DAY_PARTS, ...TIME_PARTS }

/**
 * A function that writes an instant (epoch ms) in a time zone.
 * @throws CommandError for an unknown part or time zone
 */
export function compileDateFormat(format = DEFAULT_FORMAT, zone = 'UTC'): (atMs: number) => string {
  const parts: Part[] = []
  let isDay = true
  for (const [text, sign] of format.matchAll(/%([\s\S]?)|[^%]+/g)) {
    if (sign === undefined) parts.push(() => text)
    else {
      parts.push(partOf(sign))
      isDay &&= sign === '%' || Object.hasOwn(DAY_PARTS, sign)
    }
  }
  const offsetAt = compileZone(zone)
  const write = (atMs: number) => {
    const offsetMs = offsetAt(atMs)
    const local = { date: new Date(atMs + offsetMs), offsetMs }
    return parts.map((part) => part(local)).join('')
  }
  // Many documents have the same day.
  return isDay ? cachedBySteps(write) : write
}

function partOf(sign: string): Part {
  if (sign === '%') return () => '%'
  if (sign === 'U') throw notImplemented('the date format %U')
  if (Object.hasOwn(PARTS, sign)) return PARTS[sign]!
  const message = `Invalid format character '%${sign}' in format string`
  throw new MongoCommandError(sign === '' ? 'Location18535' : 'Location18536', message)
}

function cachedBySteps<T>(compute: (atMs: number) => T): (atMs: number) => T {
  const cached = new Map<number, T>()
  return (atMs) => {
    const step = Math.floor(atMs / STEP_MS)
    let value = cached.get(step)
    if (value === undefined) {
      if (cached.size >= STEPS_CACHED_MAX) cached.clear()
      value = compute(atMs)
      cached.set(step, value)
    }
    return value
  }
}

const OFFSET = /^([+-])(\d\d):?(\d\d)?$/

/** Distance of local time from UTC, in ms. */
function compileZone(zone: string): (atMs: number) => number {
  if (zone === 'UTC' || zone === 'GMT' || zone === 'Z') return () => 0
  const fixed = OFFSET.exec(zone)
  if (fixed) {
    const [, sign, hours, minutes = '0'] = fixed
    const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000
    return () => (sign === '-' ? -offsetMs : offsetMs)
  }
  const formatter = formatterOf(zone)
  return cachedBySteps((atMs) => {
    const wholeMs = Math.floor(atMs / 1000) * 1000
    const parts: Record<string, number> = {}
    for (const { type, value } of formatter.formatToParts(wholeMs)) parts[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute, second) - wholeMs
  })
}

function formatterOf(zone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    throw new MongoCommandError(
      'Location40485',
      `unrecognized time zone identifier: "${zone.slice(0, 64)}"`,
    )
  }
}

function dayOfYear(date: Date): number {
  const year = date.getUTCFullYear()
  const day = Date.UTC(year, date.getUTCMonth(), date.getUTCDate())
  return (day - Date.UTC(year, 0, 1)) / DAY_MS + 1
}

function isoWeekday(date: Date): number {
  return date.getUTCDay() || 7
}

/** The Thursday of the ISO week, which decides the year that the week belongs to. */
function thursdayOf(date: Date): Date {
  return new Date(date.getTime() + (4 - isoWeekday(date)) * DAY_MS)
}

function offsetText(offsetMs: number): string {
  const minutes = Math.trunc(Math.abs(offsetMs) / 60_000)
  return `${offsetMs < 0 ? '-' : '+'}${two(Math.trunc(minutes / 60))}${two(minutes % 60)}`
}
