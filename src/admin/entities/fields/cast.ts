/** Values of configured fields: read by their type, or refused with a reason. */
import { microsFrom, parseDecimal, toScale } from '../../../domain/money.ts'
import { parseInstant } from '../../../domain/time.ts'
import { InvalidFieldsError } from '../errors.ts'
import { dateOf, secUsecInstant, type TimeContext } from '../requests/instant.ts'
import { FieldProblems } from '../requests/problems.ts'
import { storedValue } from '../requests/stored-value.ts'
import { isEmail } from './email.ts'

/** What is stored, or why it cannot be. */
export type Cast = { value: unknown } | { reason: string }

const ok = (value: unknown): Cast => ({ value })
const no = (reason: string): Cast => ({ reason })

type Reader = (value: unknown, time: TimeContext) => Cast

const READERS: Readonly<Record<string, Reader>> = {
  text: readText,
  textarea: readText,
  integer: readInteger,
  decimal: readDecimal,
  boolean: readBoolean,
  date: readDate,
  datetime: readDate,
  daterange: readRange,
  select: readText,
  email: readEmail,
  percentage: readPercentage,
  json: readJson,
}

/** One value, not empty. Without a known type it is stored as it is sent. */
export function castValue(type: string | undefined, value: unknown, time: TimeContext): Cast {
  const reader = READERS[type ?? ''] ?? readJson
  return reader(value, time)
}

/** Anything that a store takes as it is; dates in it are dates. */
function readJson(value: unknown): Cast {
  const problems = new FieldProblems()
  const stored = storedValue(value, 'it', problems)
  try {
    problems.throwIfAny()
    return ok(stored)
  } catch (error) {
    if (!(error instanceof InvalidFieldsError)) throw error
    return no(
      error.fields.map(({ path, reason }) => `has ${path.slice(3)}, which ${reason}`).join(),
    )
  }
}

function readText(value: unknown): Cast {
  if (typeof value === 'string') return ok(value)
  // Phone numbers and zip codes come as numbers, too.
  if (typeof value === 'number' && Number.isSafeInteger(value)) return ok(String(value))
  return no('must be a text')
}

function readInteger(value: unknown): Cast {
  const decimal = isNumberOrText(value) ? parseDecimal(value) : null
  const whole = decimal === null ? null : toScale(decimal, 0)
  return whole === null ? no('must be an integer below 2^53') : ok(whole)
}

/** Exact: a text stays a text, so that nothing of it is lost. */
function readDecimal(value: unknown): Cast {
  if (!isNumberOrText(value) || microsFrom(value) === null) {
    return no('must be a number or decimal text, with at most 6 decimals and below 2^53 micros')
  }
  return ok(typeof value === 'string' ? value.trim() : value)
}

const WORDS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ...([true, 1, '1', 'true', 'yes', 'on'].map((word) => [word, true]) as [unknown, boolean][]),
  ...([false, 0, '0', 'false', 'no', 'off'].map((word) => [word, false]) as [unknown, boolean][]),
])

function readBoolean(value: unknown): Cast {
  const word = WORDS.get(value)
  return word === undefined ? no('must be true or false') : ok(word)
}

function readDate(value: unknown, time: TimeContext): Cast {
  const atMs = instantOf(value, time)
  return atMs === null || !isDateMs(atMs) ? no('must be a date') : ok(new Date(atMs))
}

/** The forms of dates in requests (`dateOf`); a day, such as of birth, may be before 1970. */
function instantOf(value: unknown, time: TimeContext): number | null {
  if (value instanceof Date) return value.getTime()
  const written = typeof value === 'string' ? parseInstant(value, time.timeZone) : null
  return written ?? secUsecInstant(value) ?? dateOf(value, time)?.getTime() ?? null
}

function isDateMs(atMs: number): boolean {
  return !Number.isNaN(new Date(atMs).getTime())
}

function readRange(value: unknown, time: TimeContext): Cast {
  if (typeof value !== 'object' || value === null) return no('must be a range { from, to }')
  const { from, to } = value as { from?: unknown; to?: unknown }
  const fromMs = instantOf(from, time)
  const toMs = instantOf(to, time)
  const isRange = fromMs !== null && toMs !== null && isDateMs(fromMs) && isDateMs(toMs)
  if (!isRange || toMs < fromMs) return no('must be a range of two dates, { from, to }')
  return ok({ from: new Date(fromMs), to: new Date(toMs) })
}

function readEmail(value: unknown): Cast {
  return typeof value === 'string' && isEmail(value) ? ok(value) : no('must be an e-mail address')
}

/** A fraction; `12%` is `0.12`. */
function readPercentage(value: unknown): Cast {
  const text = typeof value === 'string' ? value.trim() : null
  if (text === null || !text.endsWith('%')) return readDecimal(value)
  const hundredths = microsFrom(text.slice(0, -1))
  if (hundredths === null || hundredths % 100 !== 0) return no('must be a percentage')
  return ok(Number(`${hundredths / 100}e-6`))
}

function isNumberOrText(value: unknown): value is number | string {
  return typeof value === 'number' || typeof value === 'string'
}
