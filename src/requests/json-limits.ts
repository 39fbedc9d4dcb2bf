/**
 * Limits on JSON from clients: depth, number of keys, names, and numbers that would lose precision.
 */
import type { FieldIssue } from '../domain/field-errors.ts'
import { type EntityRuleError, fieldRule } from './errors.ts'
import { unsafeName } from './names.ts'
import { truncatedName } from './problems.ts'

/** Limit on a body without its files; enough for a plan with hundreds of its own prices. */
export const BODY_BYTES_MAX = 1024 * 1024
/**
 * Limit on bodies of clients that nothing before the body identifies. Enough for a signed call with
 * a thousand entries; parsing it holds the event loop for less than 30 ms.
 */
export const SMALL_BODY_BYTES_MAX = 256 * 1024
/** Limit on the bodies of logins and token requests. */
export const LOGIN_BODY_BYTES_MAX = 64 * 1024
export const DEPTH_MAX = 32
export const KEYS_MAX = 10_000
/** A double keeps 15 digits of any decimal; PHP writes 17. */
const DIGITS_MAX = 17

/** Limits that an action may raise. */
export interface JsonLimits {
  readonly keysMax: number
}

export const JSON_LIMITS: JsonLimits = { keysMax: KEYS_MAX }

interface Walk extends JsonLimits {
  keys: number
}

/**
 * Why a value is refused, with its path; null if it is valid. Integers beyond 2^53 are refused
 * because they have lost precision.
 */
export function refusedValue(
  value: unknown,
  name: string,
  { keysMax }: JsonLimits = JSON_LIMITS,
): EntityRuleError | null {
  const refused = walk(value, 1, { keys: 0, keysMax })
  return refused === null ? null : fieldRule(truncatedName(name + refused.path), refused.reason)
}

/** The path is added from the inside, because most values are valid. */
function walk(value: unknown, depth: number, seen: Walk): FieldIssue | null {
  if (typeof value === 'number') {
    return isExactNumber(value) ? null : { path: '', reason: NOT_EXACT }
  }
  if (typeof value !== 'object' || value === null) return null
  if (depth > DEPTH_MAX) {
    return { path: '', reason: `is nested deeper than ${DEPTH_MAX} levels` }
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const refused = walk(value[index], depth + 1, seen)
      if (refused !== null) return { ...refused, path: `.${index}${refused.path}` }
    }
    return null
  }
  for (const [key, member] of Object.entries(value)) {
    seen.keys += 1
    if (seen.keys > seen.keysMax) {
      return { path: '', reason: `has more than ${seen.keysMax} keys` }
    }
    const reason = unsafeName(key)
    const refused = reason === null ? walk(member, depth + 1, seen) : { path: '', reason }
    if (refused !== null) return { ...refused, path: `.${key}${refused.path}` }
  }
  return null
}

const NOT_EXACT = 'is a number beyond 2^53, which cannot be kept exactly'

/** False if a parsed number has certainly lost precision. */
export function isExactNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

/**
 * Why a JSON text is refused before it is parsed; null if it is valid. The parsed value may need
 * many times the memory of the text.
 */
export function refusedText(
  json: string,
  name: string,
  { keysMax }: JsonLimits = JSON_LIMITS,
): EntityRuleError | null {
  const refuse = (reason: string) => fieldRule(truncatedName(name), reason)
  let depth = 0
  let keys = 0
  let at = 0
  while (at < json.length) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) {
      at = indexAfterString(json, at)
      continue
    }
    if (code === OBJECT || code === LIST) depth += 1
    else if (code === OBJECT_END || code === LIST_END) depth -= 1
    else if (code === COLON) keys += 1
    if (depth > DEPTH_MAX) return refuse(`is nested deeper than ${DEPTH_MAX} levels`)
    if (keys > keysMax) return refuse(`has more than ${keysMax} keys`)
    at += 1
  }
  return null
}

/** The first number with too many digits in a JSON text; null if all numbers are exact. */
export function inexactNumber(json: string): string | null {
  let at = 0
  while (at < json.length) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) {
      at = indexAfterString(json, at)
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const begin = at
      let hasExponent = false
      do {
        at += 1
        hasExponent ||= isExponent(json.charCodeAt(at))
      } while (isInNumber(json.charCodeAt(at)))
      const isShort = at - begin <= DIGITS_MAX && !hasExponent
      if (isShort) continue
      const number = json.slice(begin, at)
      if (!hasExactDigits(number)) return truncatedName(number)
    } else {
      at += 1
    }
  }
  return null
}

const codeOf = (character: string) => character.charCodeAt(0)
const [QUOTE, BACKSLASH, COLON] = [codeOf('"'), codeOf('\\'), codeOf(':')]
const [OBJECT, OBJECT_END, LIST, LIST_END] = [codeOf('{'), codeOf('}'), codeOf('['), codeOf(']')]
const [ZERO, NINE, MINUS, PLUS, POINT] = [
  codeOf('0'),
  codeOf('9'),
  codeOf('-'),
  codeOf('+'),
  codeOf('.'),
]

const isExponent = (code: number) => code === codeOf('e') || code === codeOf('E')

function isInNumber(code: number): boolean {
  const isSign = code === MINUS || code === PLUS
  return (code >= ZERO && code <= NINE) || code === POINT || isSign || isExponent(code)
}

function indexAfterString(json: string, from: number): number {
  let at = from + 1
  for (let code = json.charCodeAt(at); at < json.length && code !== QUOTE; ) {
    at += code === BACKSLASH ? 2 : 1
    code = json.charCodeAt(at)
  }
  return at + 1
}

/** True if a decimal text has at most 17 significant digits and does not underflow to zero. */
export function hasExactDigits(number: string): boolean {
  const [mantissa = ''] = number.toLowerCase().split('e')
  const digits = mantissa.replace(/[-+.]/g, '').replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return end <= DIGITS_MAX && (end === 0) === (Number(number) === 0)
}
