/** Reading the values of a message while the first problem is kept. */
import type { FieldProblem } from './file-type.ts'

/** Longest text that is a called number, a subscriber's number or a name. */
export const NUMBER_CHARS_MAX = 64
/** Longest text that rules may compare, and longest session id. */
export const TEXT_CHARS_MAX = 256
export const UNUSABLE = 'has control characters or half characters'
const DIGITS_MAX = 16

/**
 * Each answers the value; after a problem, a placeholder. So the way of a message is one straight
 * line with one check at its end.
 */
export class DecodeErrors {
  problem: FieldProblem | null = null
  /** Path of the entry that is read, with a point at its end; empty outside a list of services. */
  prefix = ''
  /** Whether volumes that are too large count as the largest one: they only ask for a grant. */
  isClamping = false

  /** Base units of a volume beyond 2^53 - 1. */
  tooLarge(field: string, why: string): number {
    if (this.isClamping) return Number.MAX_SAFE_INTEGER
    this.fail(field, why)
    return 0
  }

  fail(field: string, why: string): void {
    this.problem ??= { field: `${this.prefix}${field}`, why }
  }

  /** Of the entry that is read as a whole, or of the message. */
  failEntry(why: string): void {
    this.problem ??= { field: this.prefix === '' ? 'body' : this.prefix.slice(0, -1), why }
  }

  /** Of a list that has more members than may be; the first that is too many is named. */
  failTooMany(list: string, max: number): void {
    const why = `is beyond the ${max} services that one request may have`
    this.problem ??= { field: `${list}.${max}`, why, isTooMany: true }
  }

  /** Text, or a whole number as its text; empty if absent. */
  text(value: unknown, field: string, charsMax: number): string {
    if (value === undefined || value === '') return ''
    if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
    if (typeof value !== 'string') this.fail(field, 'must be a text or a whole number')
    else if (value.length > charsMax) this.fail(field, `must have at most ${charsMax} characters`)
    else if (!isUsable(value)) this.fail(field, UNUSABLE)
    else return value
    return ''
  }

  /** A whole number from 0 to `max`, as number or digits; -1 if absent. */
  whole(value: unknown, field: string, max = Number.MAX_SAFE_INTEGER): number {
    if (value === undefined || value === '') return -1
    const number = typeof value === 'string' && isDigits(value) ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= max) {
      return number === 0 ? 0 : number
    }
    const most = max === Number.MAX_SAFE_INTEGER ? '2^53 - 1' : max
    this.fail(field, `must be a whole number from 0 to ${most}`)
    return -1
  }

  /** A boolean, 0 or 1, or a word for one; false if absent. */
  flag(value: unknown, field: string): boolean {
    if (value === undefined || value === false || value === true) return value === true
    if (value === 0 || value === 1) return value === 1
    const word = typeof value === 'string' && value.length <= 5 ? value.toLowerCase() : 'unknown'
    const meaning = WORDS.get(word)
    if (meaning === undefined) this.fail(field, 'must be true or false')
    return meaning ?? false
  }
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['', '0', 'false', 'no', 'off'].map((word) => [word, false] as const),
  ...['1', 'true', 'yes', 'on'].map((word) => [word, true] as const),
])

/** Only 0 to 9, and so few that the number may still be exact. */
function isDigits(text: string): boolean {
  if (text.length > DIGITS_MAX) return false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code < 48 || code > 57) return false
  }
  return true
}

const PLAIN = /^[ -~]*$/
/** Above this many characters the expression is faster than a loop. */
const FEW_CHARS = 16

/** Without control characters and halves of surrogate pairs: neither survives in a key. */
export function isUsable(text: string): boolean {
  if (text.length > FEW_CHARS && PLAIN.test(text)) return true
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code < 32 || (code >= 127 && code < 160)) return false
    if (code < 0xd800 || code > 0xdfff) continue
    const next = text.charCodeAt(at + 1)
    if (code > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return false
    at += 1
  }
  return true
}
