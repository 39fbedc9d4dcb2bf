/** Expiry of a credit. */
import { periodAt } from '../../catalog/compile/period.ts'
import { FieldError } from '../../domain/fields.ts'
import { FOREVER_MS, parseInstant } from '../../domain/time.ts'
import { endOf } from '../../rating/periods.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'

export interface ExpiryRequest {
  /** From the definition of the bucket. */
  unlimited: boolean
  /** A date, Unix seconds, or either as text; absent if the period determines the expiry. */
  expirationDate: unknown
  /** Period of a charging plan, such as `30 days`; null for the default period. */
  period: string | null
}

/** By default a credit expires on the same day of the next month. */
const USUAL_PERIOD = '1 month'
const SECOND_MS = 1000
const UNIX = /^\d{9,11}$/

/** Epoch ms; periods end with the last second of a day. Throws `EntityRuleError`. */
export function expiryOf(
  { unlimited, expirationDate, period }: ExpiryRequest,
  nowMs: number,
  zone: string,
): number {
  if (unlimited) return FOREVER_MS
  if (expirationDate !== undefined && expirationDate !== null && expirationDate !== '') {
    return requestedExpiry(expirationDate, nowMs, zone)
  }
  const length = period ?? USUAL_PERIOD
  try {
    const steps = periodAt(`tomorrow +${length}`, 'period')
    if (steps !== null) return endOf(steps, nowMs, zone) - SECOND_MS
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
  }
  throw new EntityRuleError(`the period ${length} is not valid`, 'refused')
}

function requestedExpiry(requested: unknown, nowMs: number, zone: string): number {
  const endMs = expirationMs(requested, zone)
  if (endMs === null || !Number.isSafeInteger(endMs)) {
    throw fieldRule('expiration_date', 'must be a date, or seconds since 1970')
  }
  if (endMs <= nowMs) throw fieldRule('expiration_date', 'must lie in the future')
  return endMs
}

function expirationMs(requested: unknown, zone: string): number | null {
  if (requested instanceof Date) return requested.getTime()
  if (typeof requested === 'number') return Math.floor(requested * SECOND_MS)
  if (typeof requested !== 'string') return null
  return UNIX.test(requested) ? Number(requested) * SECOND_MS : parseInstant(requested, zone)
}
