/** Dates as text in a format of PHP's `date`. */
import { localTime } from '../domain/time.ts'
import { fieldRule } from '../requests/errors.ts'

/** Parts of a local date. Absent parts are 0; a format does not use them then. */
export interface CalendarParts {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
  /** 1 (Monday) to 7. */
  weekday: number
  isoYear: number
  isoWeek: number
  /** From 1. */
  dayOfYear: number
}

type Part = keyof CalendarParts

interface Letter {
  readonly needs: readonly Part[]
  write(parts: CalendarParts): string
}

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September'],
  ...['October', 'November', 'December'],
]

const digits = (value: number, width: number) => String(value).padStart(width, '0')
const padded = (part: Part, width: number): Letter => ({
  needs: [part],
  write: (parts) => digits(parts[part], width),
})
const plain = (part: Part): Letter => ({ needs: [part], write: (parts) => String(parts[part]) })
const named = (part: Part, name: (value: number) => string): Letter => ({
  needs: [part],
  write: (parts) => name(parts[part]),
})
const hour12 = (hour: number) => hour % 12 || 12
const half = (hour: number) => (hour < 12 ? 'am' : 'pm')

const LETTERS: Readonly<Record<string, Letter>> = {
  d: padded('day', 2),
  j: plain('day'),
  D: named('weekday', (day) => (DAYS[day - 1] ?? '').slice(0, 3)),
  l: named('weekday', (day) => DAYS[day - 1] ?? ''),
  N: plain('weekday'),
  w: named('weekday', (day) => String(day % 7)),
  z: named('dayOfYear', (day) => String(day - 1)),
  W: padded('isoWeek', 2),
  o: plain('isoYear'),
  m: padded('month', 2),
  n: plain('month'),
  F: named('month', (month) => MONTHS[month - 1] ?? ''),
  M: named('month', (month) => (MONTHS[month - 1] ?? '').slice(0, 3)),
  Y: padded('year', 4),
  y: named('year', (year) => digits(year % 100, 2)),
  a: named('hour', half),
  A: named('hour', (hour) => half(hour).toUpperCase()),
  G: plain('hour'),
  H: padded('hour', 2),
  g: named('hour', (hour) => String(hour12(hour))),
  h: named('hour', (hour) => digits(hour12(hour), 2)),
  i: padded('minute', 2),
  s: padded('second', 2),
}

/** The signs of `$dateToString` for each part, in an order in which texts are chronological. */
const SIGNS: readonly (readonly [Part, string])[] = [
  ['isoYear', '%G'],
  ['isoWeek', '%V'],
  ['year', '%Y'],
  ['month', '%m'],
  ['day', '%d'],
  ['dayOfYear', '%j'],
  ['weekday', '%u'],
  ['hour', '%H'],
  ['minute', '%M'],
  ['second', '%S'],
]

export interface DateFormat {
  write(parts: CalendarParts): string
  /** Format of `$dateToString` with the parts that this one shows. */
  readonly grouped: string
  /** Reads a text in the format `grouped`. */
  partsOf(text: string): CalendarParts
}

const NONE: CalendarParts = {
  year: 0,
  month: 0,
  day: 0,
  hour: 0,
  minute: 0,
  second: 0,
  weekday: 0,
  isoYear: 0,
  isoWeek: 0,
  dayOfYear: 0,
}
const FORMAT_LENGTH_MAX = 100

/** Throws `EntityRuleError` for letters that are not supported. */
export function compileDateText(format: string, where: string): DateFormat {
  if (format === '' || format.length > FORMAT_LENGTH_MAX) {
    throw fieldRule(where, `must be a format such as 'd/m/Y'`)
  }
  const parts: ((from: CalendarParts) => string)[] = []
  const needed = new Set<Part>()
  for (let at = 0; at < format.length; at += 1) {
    const sign = format[at] as string
    const letter = Object.hasOwn(LETTERS, sign) ? LETTERS[sign] : undefined
    if (letter !== undefined) {
      for (const part of letter.needs) needed.add(part)
      parts.push(letter.write)
    } else if (/[A-Za-z]/.test(sign)) {
      throw fieldRule(where, `has '${sign}', which is not supported`)
    } else if (sign === '\\') {
      at += 1
      const literal = format[at] ?? ''
      parts.push(() => literal)
    } else parts.push(() => sign)
  }
  if (needed.size === 0) throw fieldRule(where, 'has no part of a date')
  const order = SIGNS.filter(([part]) => needed.has(part))
  return {
    write: (from) => parts.map((part) => part(from)).join(''),
    grouped: order.map(([, sign]) => sign).join('-'),
    partsOf(text) {
      const values = text.split('-')
      const given = order.map(([part], index) => [part, Number(values[index] ?? 0)] as const)
      return { ...NONE, ...Object.fromEntries(given) }
    },
  }
}

const DAY_MS = 86_400_000

export function datePartsAt(atMs: number, zone: string): CalendarParts {
  const local = localTime(zone, atMs)
  const day = Date.UTC(local.year, local.month - 1, local.day)
  const weekday = new Date(day).getUTCDay() || 7
  const thursday = day + (4 - weekday) * DAY_MS
  const isoYear = new Date(thursday).getUTCFullYear()
  const isoWeek = Math.floor((thursday - Date.UTC(isoYear, 0, 1)) / (7 * DAY_MS)) + 1
  const dayOfYear = (day - Date.UTC(local.year, 0, 1)) / DAY_MS + 1
  return { ...local, weekday, isoYear, isoWeek, dayOfYear }
}
