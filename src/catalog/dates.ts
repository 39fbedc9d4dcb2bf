/** Conversion of dates entered as text. */
import { FieldError, type Fields } from '../domain/fields.ts'
import { FOREVER_MS, parseInstant } from '../domain/time.ts'

/**
 * Returns a copy of the document with the strings at these paths converted to dates; `*` means
 * every member of a list. Without `to`, the revision has no end. Throws `FieldError` if a string is
 * not a date.
 */
export function withDates(document: Fields, paths: readonly string[], timeZone: string): Fields {
  let result: unknown = { to: new Date(FOREVER_MS), ...document }
  for (const path of paths) result = convert(result, path.split('.'), '', timeZone)
  return result as Fields
}

function convert(value: unknown, path: readonly string[], at: string, timeZone: string): unknown {
  const [step, ...rest] = path
  if (step === undefined) return typeof value === 'string' ? dateFrom(value, at, timeZone) : value
  if (step === '*') {
    if (!Array.isArray(value)) return value
    return value.map((member, index) => convert(member, rest, `${at}.${index}`, timeZone))
  }
  if (typeof value !== 'object' || value === null || !(step in value)) return value
  const child = convert((value as Fields)[step], rest, at === '' ? step : `${at}.${step}`, timeZone)
  return { ...value, [step]: child }
}

function dateFrom(text: string, path: string, timeZone: string): Date {
  const atMs = parseInstant(text, timeZone)
  if (atMs === null) throw new FieldError(path, `must be a date, is '${text}'`)
  return new Date(atMs)
}
