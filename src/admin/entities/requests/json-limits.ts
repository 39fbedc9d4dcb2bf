/**
 * Limits on JSON from clients: depth, number of keys, names, and numbers that would lose precision.
 */
import { unsafeName } from './names.ts'
import { truncatedName } from './problems.ts'

/** Limit on a body without its files; enough for a plan with hundreds of its own prices. */
export const BODY_BYTES_MAX = 1024 * 1024
/** Limit on bodies that unauthenticated clients may send: logins and token requests. */
export const SMALL_BODY_BYTES_MAX = 64 * 1024
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
): string | null {
  return walk(value, name, 1, { keys: 0, keysMax })
}

function walk(value: unknown, path: string, depth: number, seen: Walk): string | null {
  if (typeof value === 'number')
    return isExactNumber(value) ? null : `${truncatedName(path)} ${NOT_EXACT}`
  if (typeof value !== 'object' || value === null) return null
  if (depth > DEPTH_MAX) return `${truncatedName(path)} is nested deeper than ${DEPTH_MAX} levels`
  if (Array.isArray(value)) {
    for (const [index, member] of value.entries()) {
      const reason = walk(member, `${path}.${index}`, depth + 1, seen)
      if (reason !== null) return reason
    }
    return null
  }
  for (const [key, member] of Object.entries(value)) {
    const at = `${path}.${key}`
    seen.keys += 1
    if (seen.keys > seen.keysMax) {
      return `${truncatedName(path)} has more than ${seen.keysMax} keys`
    }
    const reason = unsafeName(key)
    if (reason !== null) return `${truncatedName(at)} ${reason}`
    const inside = walk(member, at, depth + 1, seen)
    if (inside !== null) return inside
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
): string | null {
  let depth = 0
  let keys = 0
  let at = 0
  while (at < json.length) {
    const character = json[at] as string
    if (character === '"') {
      at = indexAfterString(json, at)
      continue
    }
    if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    else if (character === ':') keys += 1
    if (depth > DEPTH_MAX) return `${truncatedName(name)} is nested deeper than ${DEPTH_MAX} levels`
    if (keys > keysMax) return `${truncatedName(name)} has more than ${keysMax} keys`
    at += 1
  }
  return null
}

/** The first number with too many digits in a JSON text; null if all numbers are exact. */
export function inexactNumber(json: string): string | null {
  let at = 0
  while (at < json.length) {
    const character = json[at] as string
    if (character === '"') {
      at = indexAfterString(json, at)
    } else if (NUMBER_STARTS.includes(character)) {
      NUMBER.lastIndex = at
      const [number = character] = NUMBER.exec(json) ?? []
      if (!hasExactDigits(number)) return truncatedName(number)
      at += number.length
    } else {
      at += 1
    }
  }
  return null
}

const NUMBER_STARTS = '-0123456789'
const NUMBER = /-?[\d.]+(?:[eE][+-]?\d+)?/y

function indexAfterString(json: string, from: number): number {
  let at = from + 1
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
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
