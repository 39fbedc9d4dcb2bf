import { lengthOf } from '../../../domain/text-codes.ts'
import { parseCommonInstant, parseInstant } from '../../../domain/time.ts'
import type { DecodeContext, DecodeError } from '../codec.ts'
import { isUnusable } from './text.ts'

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

/** A parsed JSON object that has not been validated. */
export type JsonObject = Record<string, unknown>

const DIGITS = /^\d{1,16}$/

/**
 * Validates field values and stores the first problem, so that a decoder checks for errors once, at
 * its end. After a problem the returned values are placeholders. `null` counts as absent. Values
 * are passed in instead of looked up here: a shared look-up is slow (megamorphic).
 */
export class JsonFieldReader {
  error: DecodeError | null = null
  /** Index of the current service for paths in errors; -1 outside the list. */
  service = -1

  fail(field: string, why: string): void {
    const path = this.service < 0 ? field : `services.${this.service}.${field}`
    this.error ??= { field: path, why }
  }

  /** An integer from 0 to `max`, as a JSON number or digits; `absent` if not given. */
  integer(value: unknown, field: string, absent: number, max = Number.MAX_SAFE_INTEGER): number {
    if (value === undefined || value === null) return absent
    const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= max) {
      // Minus zero becomes zero.
      return number === 0 ? 0 : number
    }
    this.fail(field, max === Number.MAX_SAFE_INTEGER ? NOT_AN_INTEGER : notUpTo(max))
    return absent
  }

  /** A text, or an integer as text; empty if absent. */
  text(value: unknown, field: string, charsMax: number): string {
    if (value === undefined || value === null) return ''
    if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
    if (typeof value !== 'string') {
      this.fail(field, 'must be a text or a whole number')
    } else if (value === '' || lengthOf(value) > charsMax) {
      this.fail(field, `must have 1 to ${charsMax} characters`)
    } else if (isUnusable(value)) {
      this.fail(field, UNUSABLE)
    } else {
      return value
    }
    return ''
  }

  boolean(value: unknown, field: string): boolean {
    if (value === undefined || value === null || value === false) return false
    if (value !== true) this.fail(field, 'must be true or false')
    return true
  }

  /** Event time in epoch ms, within the limits of the context; -1 if absent. */
  eventTimeMs(value: unknown, field: string, context: DecodeContext): number {
    if (value === undefined || value === null) return -1
    const atMs = instantMs(value, context.zone)
    if (atMs === null) {
      this.fail(field, 'must be ISO 8601 or unix seconds')
    } else if (atMs < context.nowMs - context.eventAgeMsMax) {
      this.fail(field, 'is too far in the past')
    } else if (atMs > context.nowMs + context.eventFutureMsMax) {
      this.fail(field, 'is in the future')
    } else {
      return atMs
    }
    return -1
  }
}

/** Problem of a text that `isUnusable`. */
export const UNUSABLE = 'has control characters or half characters'

const NOT_AN_INTEGER = 'must be a whole number from 0 to 2^53 - 1'

function notUpTo(max: number): string {
  return `must be a whole number from 0 to ${max}`
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
