import { parseCommonInstant, parseInstant } from '../../../domain/time.ts'

const UNIX_SECONDS = /^\d{1,11}(?:\.\d{1,9})?$/
const ENDS_WITH_OFFSET = /(?:Z|[+-]\d{2}:?\d{2})$/

/** ISO 8601 (in `zone` if it has no offset) or Unix seconds as epoch ms; null if it is neither. */
export function instantMs(value: unknown, zone: string): number | null {
  if (typeof value === 'number') return Math.round(value * 1000)
  if (typeof value !== 'string') return null
  const utcMs = parseCommonInstant(value)
  if (utcMs >= 0) return utcMs
  if (UNIX_SECONDS.test(value)) return Math.round(Number(value) * 1000)
  // With an offset no time zone calculation is needed, which is about twenty times faster.
  const isUtc = zone === 'UTC' && !ENDS_WITH_OFFSET.test(value)
  return parseInstant(isUtc ? `${value}Z` : value, zone)
}
