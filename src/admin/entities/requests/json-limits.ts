/** Bounds of JSON from outside: depth, keys, names, and numbers that would not stay exact. */

import { unsafeName } from './names.ts'
import { truncatedName } from './problems.ts'

/** Of a body without its files: room for a plan with hundreds of prices of its own. */
export const BODY_BYTES_MAX = 1024 * 1024
/** Of a body that anybody may send: a login, a request for a token. */
export const SMALL_BODY_BYTES_MAX = 64 * 1024
export const DEPTH_MAX = 32
export const KEYS_MAX = 10_000
/** A double keeps 15 digits of any decimal; PHP writes 17. */
const DIGITS_MAX = 17

interface Walk {
  keys: number
}

/**
 * Why a value is refused, with the path of what is wrong; null if it is not. Whole numbers beyond
 * 2^53 are refused: what was read is not what was sent.
 */
export function refusedValue(value: unknown, name: string): string | null {
  return walk(value, name, 1, { keys: 0 })
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
    if (seen.keys > KEYS_MAX) return `${truncatedName(path)} has more than ${KEYS_MAX} keys`
    const reason = unsafeName(key)
    if (reason !== null) return `${truncatedName(at)} ${reason}`
    const inside = walk(member, at, depth + 1, seen)
    if (inside !== null) return inside
  }
  return null
}

const NOT_EXACT = 'is a number beyond 2^53, which cannot be kept exactly'

/** Whether a number that was read is the one that was written, as far as it tells. */
export function isExactNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

/**
 * Why a JSON text is refused before it is parsed; null if it is not. What it would become may take
 * many times its own room.
 */
export function refusedText(json: string, name: string): string | null {
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
    if (keys > KEYS_MAX) return `${truncatedName(name)} has more than ${KEYS_MAX} keys`
    at += 1
  }
  return null
}

/** The first number of a JSON text that has more digits than are kept; null if none has. */
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

/** Whether a decimal text has at most 17 digits that count, and is not so small that it is zero. */
export function hasExactDigits(number: string): boolean {
  const [mantissa = ''] = number.toLowerCase().split('e')
  const digits = mantissa.replace(/[-+.]/g, '').replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return end <= DIGITS_MAX && (end === 0) === (Number(number) === 0)
}
