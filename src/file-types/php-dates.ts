/**
 * Dates in a format of PHP's `DateTime::createFromFormat`. Parts missing in the format are zero,
 * never those of the current time.
 */
import { FieldError } from '../domain/fields.ts'
import { daysIn, type LocalTime } from '../domain/time.ts'
import { instantIn, type Zone, zoneOf } from './zones.ts'

/** Returns the epoch ms of a text, in `zone` if the text has none; null if it does not match. */
export type DateReader = (text: string, zone: Zone) => number | null

interface Parts extends LocalTime {
  micros: number
  afternoon: boolean | null
  unixSeconds: number | null
  zone: Zone | null
}

/** Reads at an index; returns the index after the part, or -1. */
type PartReader = (text: string, at: number, parts: Parts) => number

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const LONG_DAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ')
const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const LONG_MONTHS =
  'january february march april may june july august september october november december'.split(' ')

type NumericPart = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'unixSeconds'

function number(part: NumericPart, fewest: number, most: number): PartReader {
  return (text, at, parts) => {
    const end = digitsEnd(text, at, most)
    if (end - at < fewest) return -1
    parts[part] = Number(text.slice(at, end))
    return end
  }
}

function digitsEnd(text: string, at: number, most: number): number {
  let end = at
  while (end - at < most && text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) end += 1
  return end
}

function word(names: readonly string[], found: (index: number, parts: Parts) => void): PartReader {
  return (text, at, parts) => {
    const index = names.findIndex((name) => text.slice(at, at + name.length).toLowerCase() === name)
    if (index < 0) return -1
    found(index, parts)
    return at + (names[index] as string).length
  }
}

const shortYear: PartReader = (text, at, parts) => {
  if (digitsEnd(text, at, 2) - at < 2) return -1
  const year = Number(text.slice(at, at + 2))
  parts.year = year < 70 ? 2000 + year : 1900 + year
  return at + 2
}

function fraction(most: number): PartReader {
  return (text, at, parts) => {
    const end = digitsEnd(text, at, most)
    if (end === at) return -1
    parts.micros = Number(text.slice(at, end).padEnd(6, '0'))
    return end
  }
}

const weekday: PartReader = (text, at) => {
  const code = text.charCodeAt(at)
  return code >= 49 && code <= 55 ? at + 1 : -1
}

/** Characters of zone names and offsets. */
const ZONE = /[A-Za-z][A-Za-z0-9_/+-]{0,39}|[+-]\d{2}:?\d{2}/y

const zone: PartReader = (text, at, parts) => {
  ZONE.lastIndex = at
  const name = ZONE.exec(text)?.[0] ?? ''
  parts.zone = zoneOf(name)
  return parts.zone === null ? -1 : at + name.length
}

const setMonth = (index: number, parts: Parts): void => {
  parts.month = index + 1
}
const setHalf = (index: number, parts: Parts): void => {
  parts.afternoon = index === 1
}
const ignore = (): void => undefined

const READERS = new Map<string, PartReader>([
  ['d', number('day', 1, 2)],
  ['j', number('day', 1, 2)],
  ['m', number('month', 1, 2)],
  ['n', number('month', 1, 2)],
  ['M', word([...LONG_MONTHS, ...MONTHS], (index, parts) => setMonth(index % 12, parts))],
  ['F', word([...LONG_MONTHS, ...MONTHS], (index, parts) => setMonth(index % 12, parts))],
  ['Y', number('year', 4, 4)],
  ['y', shortYear],
  ['H', number('hour', 1, 2)],
  ['G', number('hour', 1, 2)],
  ['h', number('hour', 1, 2)],
  ['g', number('hour', 1, 2)],
  ['i', number('minute', 2, 2)],
  ['s', number('second', 2, 2)],
  ['u', fraction(6)],
  ['v', fraction(3)],
  ['a', word(['am', 'pm'], setHalf)],
  ['A', word(['am', 'pm'], setHalf)],
  ['D', word([...LONG_DAYS, ...DAYS], ignore)],
  ['l', word([...LONG_DAYS, ...DAYS], ignore)],
  ['N', weekday],
  ['U', number('unixSeconds', 1, 11)],
  ['O', zone],
  ['P', zone],
  ['p', zone],
  ['T', zone],
  ['e', zone],
])

const DATE_LETTERS = [
  ['d', 'j'],
  ['m', 'n', 'M', 'F'],
  ['Y', 'y'],
] as const

/** Compiles a format. Throws `FieldError` if it has unsupported letters or no complete date. */
export function compileDateFormat(format: string, path: string): DateReader {
  const letters = new Set<string>()
  const readers: PartReader[] = []
  for (let at = 0; at < format.length; at += 1) {
    const sign = format[at] as string
    if (sign === '\\') {
      at += 1
      if (at === format.length) throw new FieldError(path, 'ends with a backslash')
      readers.push(literal(format[at] as string))
    } else if (/[A-Za-z]/.test(sign)) {
      const reader = READERS.get(sign)
      if (reader === undefined) throw new FieldError(path, `has '${sign}', which is not supported`)
      letters.add(sign)
      readers.push(reader)
    } else if (sign === '?') readers.push((text, from) => (from < text.length ? from + 1 : -1))
    else if (/[*+#]/.test(sign)) throw new FieldError(path, `has '${sign}', which is not supported`)
    // These two reset missing parts to zero, which is always the case here.
    else if (sign !== '!' && sign !== '|') readers.push(literal(sign))
  }
  checkLetters(letters, path)
  const isTwelve = letters.has('h') || letters.has('g')
  return (text, absentZone) => {
    const parts = read(text, readers)
    return parts === null ? null : instantFrom(parts, isTwelve, absentZone)
  }
}

function literal(sign: string): PartReader {
  return (text, at) => (text[at] === sign ? at + 1 : -1)
}

function checkLetters(letters: ReadonlySet<string>, path: string): void {
  const isWhole = DATE_LETTERS.every((group) => group.some((letter) => letters.has(letter)))
  if (!isWhole && !letters.has('U')) {
    throw new FieldError(path, 'must have a day, a month and a year, or U')
  }
  const isTwelve = letters.has('h') || letters.has('g')
  if (isTwelve !== (letters.has('a') || letters.has('A'))) {
    throw new FieldError(path, 'must have a or A with h or g, and only with them')
  }
}

function read(text: string, readers: readonly PartReader[]): Parts | null {
  const parts: Parts = {
    year: 0,
    month: 0,
    day: 0,
    hour: 0,
    minute: 0,
    second: 0,
    micros: 0,
    afternoon: null,
    unixSeconds: null,
    zone: null,
  }
  let at = 0
  for (const reader of readers) {
    at = reader(text, at, parts)
    if (at < 0) return null
  }
  return at === text.length ? parts : null
}

function instantFrom(parts: Parts, isTwelve: boolean, absentZone: Zone): number | null {
  const millis = Math.floor(parts.micros / 1000)
  if (parts.unixSeconds !== null) return parts.unixSeconds * 1000 + millis
  if (isTwelve) {
    if (parts.hour < 1 || parts.hour > 12) return null
    parts.hour = (parts.hour % 12) + (parts.afternoon === true ? 12 : 0)
  }
  return isReal(parts) ? instantIn(parts.zone ?? absentZone, parts) + millis : null
}

function isReal({ year, month, day, hour, minute, second }: LocalTime): boolean {
  // Date.UTC interprets a year below 100 as 19xx.
  if (year < 100 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return false
  return hour < 24 && minute < 60 && second < 60
}
