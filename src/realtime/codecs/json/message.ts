/** JSON bodies of file types: one object each, within the limits of messages. */
import type { MessageParser } from '../encoder.ts'
import { limitProblems, messageLimits } from '../message-limits.ts'
import type { JsonObject } from './fields.ts'
import { parseObject } from './parse.ts'

export const jsonMessageParser: MessageParser = {
  parse(body) {
    const object = parseObject(body, problemOf)
    if (typeof object !== 'string') return { ok: true, message: object, form: null }
    return { ok: false, error: { field: 'body', why: object }, form: null }
  },
}

/** Any member takes two characters at least, as in `[1,1]`. */
const SMALL_CHARS = messageLimits.members * 2

/** Most messages show by their text that they are within the limits, and need no walk. */
function problemOf(object: JsonObject, text: string): string {
  if (text.length <= SMALL_CHARS && isShallow(text) && !hasLongText(text)) return ''
  return new Walk().problemOf(object, 1)
}

/** Whether there are too few braces and brackets for nesting that is too deep. */
function isShallow(text: string): boolean {
  return countOf('{', text) + countOf('[', text) <= messageLimits.depth
}

/** How often a text has a sign; past the deepest nesting it counts no further. */
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
 * Whether there may be a text that is too long for a name: a stretch without a quote, and a quote
 * within a text has a backslash. From each place where the next quote would end such a stretch it
 * goes back to the last one, so it looks at few of the characters.
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

  /** Of a record or list and what is in it; empty if there is none. `depth` counts from 1. */
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
