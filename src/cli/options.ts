/** Reads options of a command. */
import { parseInstant } from '../domain/time.ts'
import { UsageError } from './errors.ts'

export type OptionValues = Readonly<Record<string, string | boolean | undefined>>

/** A required text option. Throws `UsageError`. */
export function requiredText(options: OptionValues, name: string): string {
  const value = options[name]
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} is missing`)
  return value
}

/** An optional text option. */
export function optionalText(options: OptionValues, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** The members of a comma-separated list; undefined if not given. Throws `UsageError`. */
export function optionalList(options: OptionValues, name: string): string[] | undefined {
  const text = optionalText(options, name)
  if (text === undefined) return undefined
  const members = text.split(',').map((member) => member.trim())
  if (members.every((member) => member !== '')) return members
  throw new UsageError(`--${name} must be a list with commas, without empty members`)
}

/** A positive integer, such as a subscriber number; undefined if not given. Throws `UsageError`. */
export function optionalNumber(options: OptionValues, name: string): number | undefined {
  const text = optionalText(options, name)
  if (text === undefined) return undefined
  const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) {
    throw new UsageError(`--${name} must be an integer from 1 to 2^53, not '${text}'`)
  }
  return number
}

/** A date or time, epoch ms; undefined if not given. Throws `UsageError`. */
export function optionalInstant(
  options: OptionValues,
  name: string,
  timeZone: string,
): number | undefined {
  const text = optionalText(options, name)
  return text === undefined ? undefined : instantFrom(text, `--${name}`, timeZone)
}

/** `what`: the name of the value. Throws `UsageError`. */
export function instantFrom(text: string, what: string, timeZone: string): number {
  const atMs = parseInstant(text, timeZone)
  if (atMs !== null) return atMs
  throw new UsageError(`${what} must be a date, as in 2030-01-31 or ISO 8601, not '${text}'`)
}
