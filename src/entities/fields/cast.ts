/** Casts values of configured fields to their type, or returns the reason why that fails. */
import { isEmail } from '../../domain/email.ts'
import { microsFrom, parseDecimal, toScale } from '../../domain/money.ts'
import { parseInstant } from '../../domain/time.ts'
import { InvalidFieldsError } from '../../requests/errors.ts'
import { dateOf, secUsecInstant, type TimeContext } from '../../requests/instant.ts'
import { FieldProblems } from '../../requests/problems.ts'
import { storedValue } from '../../requests/stored-value.ts'

/** The value to store, or the reason why it is refused. */
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

/** Casts one non-empty value. Values of unknown types are stored unchanged. */
export function castValue(type: string | undefined, value: unknown, time: TimeContext): Cast {
  const reader = READERS[type ?? ''] ?? readJson
  return reader(value, time)
}

/** Any value that the store accepts; timestamps in it become dates. */
function readJson(value: unknown): Cast {
  const problems = new FieldProblems()
  const stored = storedValue(value, 'it', problems)
  try {
    problems.throwIfAny()
    return ok(stored)
  } catch (error) {
    if (!(error instanceof InvalidFieldsError)) throw error
    return no(
      error.issues.map(({ path, reason }) => `has ${path.slice(3)}, which ${reason}`).join(),
    )
  }
}

function readText(value: unknown): Cast {
  if (typeof value === 'string') return ok(value)
  // Clients send phone numbers and zip codes as numbers, too.
  if (typeof value === 'number' && Number.isSafeInteger(value)) return ok(String(value))
  return no('must be a text')
}

function readInteger(value: unknown): Cast {
  const decimal = isNumberOrText(value) ? parseDecimal(value) : null
  const whole = decimal === null ? null : toScale(decimal, 0)
  return whole === null ? no('must be an integer below 2^53') : ok(whole)
}

/** A text stays a text to keep its exact value. */
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
  const atMs = requestInstantMs(value, time)
  return atMs === null || !isDateMs(atMs) ? no('must be a date') : ok(new Date(atMs))
}

/**
 * Accepts all date formats of requests (`dateOf`); days, such as a birthday, may be before 1970.
 */
function requestInstantMs(value: unknown, time: TimeContext): number | null {
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
  const fromMs = requestInstantMs(from, time)
  const toMs = requestInstantMs(to, time)
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
