/** Reads JSON objects: messages, within the message limits, and records in files. */
import { isUtf8 } from 'node:buffer'
import { isObject } from '../domain/fields.ts'
import { limitProblems, messageLimits } from './message-limits.ts'

type Parsed = Record<string, unknown>

/** Replaces bytes that are not UTF-8; a valid text may contain it, too. */
const REPLACEMENT = '\ufffd'

/**
 * The object in the body, or why the body is refused. A repeated name has its last value, and no
 * name is special: JSON.parse creates own members only. `check` returns why the object is refused;
 * empty if it is accepted.
 */
export function parseObject(
  body: Buffer,
  check: ((object: Parsed, text: string) => string) | null = null,
): Parsed | string {
  if (body.length === 0) return 'is empty'
  const text = body.toString('utf8')
  if (text.includes(REPLACEMENT) && !isUtf8(body)) return 'is not UTF-8'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'is not JSON'
  }
  if (!isObject(value)) return 'is not a JSON object'
  const why = check === null ? '' : check(value, text)
  return why === '' ? value : why
}

/** The message in the body, or why the body is refused. */
export function parseJsonMessage(body: Buffer): Parsed | string {
  return parseObject(body, problemOf)
}

/** A member needs at least two characters, as in `[1,1]`. */
const SMALL_CHARS = messageLimits.members * 2

/** The text of most messages proves that they are within the limits, without a traversal. */
function problemOf(object: Parsed, text: string): string {
  if (text.length <= SMALL_CHARS && isShallow(text) && !hasLongText(text)) return ''
  return new Walk().problemOf(object, 1)
}

/** Whether there are too few braces and brackets to exceed the nesting limit. */
function isShallow(text: string): boolean {
  return countOf('{', text) + countOf('[', text) <= messageLimits.depth
}

/** Counts occurrences of a sign; stops above the nesting limit. */
function countOf(sign: string, text: string): number {
  let count = 0
  let at = text.indexOf(sign)
  while (at >= 0 && count <= messageLimits.depth) {
    count += 1
    at = text.indexOf(sign, at + 1)
  }
  return count
}

/**
 * Whether there may be a text longer than the limit for names: a stretch without a quote (quotes
 * inside texts are preceded by a backslash). Steps from one candidate position to the next, so few
 * characters are examined.
 */
function hasLongText(text: string): boolean {
  const stretch = messageLimits.nameChars + 1
  if (text.length <= stretch) return false
  if (text.includes('\\')) return true
  let last = 0
  while (last + stretch < text.length) {
    let at = last + stretch
    while (at > last && text.charCodeAt(at) !== 0x22) at -= 1
    if (at === last) return true
    last = at
  }
  return false
}

class Walk {
  #members = 0

  /**
   * Checks a record or list and its content; empty if there is no problem. `depth` counts from 1.
   */
  problemOf(container: object, depth: number): string {
    if (depth > messageLimits.depth) return limitProblems.depth
    const isList = Array.isArray(container)
    const names = isList ? [] : Object.keys(container)
    const values: unknown[] = isList ? container : Object.values(container)
    this.#members += values.length
    if (this.#members > messageLimits.members) return limitProblems.members
    if (names.some((name) => name.length > messageLimits.nameChars)) return limitProblems.nameChars
    for (const value of values) {
      if (typeof value !== 'object' || value === null) continue
      const why = this.problemOf(value, depth + 1)
      if (why !== '') return why
    }
    return ''
  }
}
