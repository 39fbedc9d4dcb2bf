/** Dates that a person wrote, on their way into the store. */
import { FieldError, type Fields } from '../domain/fields.ts'
import { FOREVER_MS, parseInstant } from '../domain/time.ts'

/**
 * A copy of a document in which the texts at these paths are dates; `*` stands for the members of a
 * list. Without `to` a revision has no end. Throws `FieldError` for a text that is no date.
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
