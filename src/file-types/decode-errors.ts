/** Reads values of a message and collects decode errors. */
import type { FieldProblem } from './file-type.ts'

/** Longest called number, subscriber number or name. */
export const NUMBER_CHARS_MAX = 64
/** Longest text that rules compare, and longest session id. */
export const TEXT_CHARS_MAX = 256
export const UNUSABLE = 'has control characters or half characters'
const DIGITS_MAX = 16

/**
 * Collects the first decode error of a message. Each reader returns a placeholder after an error,
 * so that decoding is straight-line code with one check at its end.
 */
export class DecodeErrors {
  problem: FieldProblem | null = null
  /** Path of the current entry, ending with a dot; empty outside a list of services. */
  prefix = ''
  /** Whether too large volumes are clamped to the largest one; used for requested volumes only. */
  isClamping = false

  /** Handles a volume beyond 2^53 - 1 base units. */
  tooLarge(field: string, why: string): number {
    if (this.isClamping) return Number.MAX_SAFE_INTEGER
    this.fail(field, why)
    return 0
  }

  fail(field: string, why: string): void {
    this.problem ??= { field: `${this.prefix}${field}`, why }
  }

  /** Reports an error of the current entry as a whole, or of the message. */
  failEntry(why: string): void {
    this.problem ??= { field: this.prefix === '' ? 'body' : this.prefix.slice(0, -1), why }
  }

  /** Reports a list with too many members by the first one beyond the limit. */
  failTooMany(list: string, max: number): void {
    const why = `is beyond the ${max} services that one request may have`
    this.problem ??= { field: `${list}.${max}`, why, isTooMany: true }
  }

  /** Reads a text, or an integer as text; empty if absent. */
  text(value: unknown, field: string, charsMax: number): string {
    if (value === undefined || value === '') return ''
    if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
    if (typeof value !== 'string') this.fail(field, 'must be a text or a whole number')
    else if (value.length > charsMax) this.fail(field, `must have at most ${charsMax} characters`)
    else if (!isUsable(value)) this.fail(field, UNUSABLE)
    else return value
    return ''
  }

  /** Reads an integer from 0 to `max`, given as number or digits; -1 if absent. */
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

  /** Reads a boolean, 0 or 1, or a word such as `yes`; false if absent. */
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

/** Whether the text consists of so few digits that the number may be exact. */
function isDigits(text: string): boolean {
  if (text.length > DIGITS_MAX) return false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code < 48 || code > 57) return false
  }
  return true
}

const PLAIN = /^[ -~]*$/
/** Above this length the regular expression is faster than a loop. */
const FEW_CHARS = 16

/** Drops control characters and unpaired surrogates, which do not survive in a key. */
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
