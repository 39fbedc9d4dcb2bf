import { codeAt, lengthOf } from '../../../domain/text-codes.ts'

/** Why a text is not percent-encoded UTF-8; see `decodePercent`. */
export interface PercentProblem {
  readonly why: string
}

const NO_DIGITS: PercentProblem = { why: 'has a % without two hexadecimal digits' }
const NOT_UTF8: PercentProblem = { why: 'has percent-encoded bytes that are not UTF-8' }
const PERCENT = 0x25
const PLUS = 0x2b
const ASCII = Array.from({ length: 0x80 }, (_, unit) => String.fromCharCode(unit))
/** Value of a hexadecimal digit by its code; -1 if it is not a digit. */
const HEX = Int8Array.from(ASCII, (char) => (/[0-9A-Fa-f]/.test(char) ? parseInt(char, 16) : -1))

/**
 * Decodes the text from `from` to `to`: `%XX` is a byte of UTF-8, and `+` a blank if `plusIsBlank`,
 * as in forms. Other characters are kept. Runs in linear time.
 */
export function decodePercent(
  text: string,
  from: number,
  to: number,
  plusIsBlank: boolean,
): string | PercentProblem {
  let decoded = ''
  let plain = from
  let at = from
  while (at < to) {
    const unit = text.charCodeAt(at)
    if (unit === PLUS && plusIsBlank) {
      decoded += `${text.slice(plain, at)} `
      at += 1
      plain = at
    } else if (unit === PERCENT) {
      decoded += text.slice(plain, at)
      const byte = byteAt(text, at, to)
      if (byte < 0) return NO_DIGITS
      if (byte < 0x80) {
        decoded += ASCII[byte]
        at += 3
      } else {
        const length = sequenceLength(byte)
        const point = pointAt(text, at, to, length)
        if (point < 0) return NOT_UTF8
        decoded += String.fromCodePoint(point)
        at += 3 * length
      }
      plain = at
    } else {
      at += 1
    }
  }
  return decoded + text.slice(plain, to)
}

/** The byte of the `%XX` at this position; negative if absent. */
function byteAt(text: string, at: number, to: number): number {
  if (at + 2 >= to || text.charCodeAt(at) !== PERCENT) return -1
  const high = text.charCodeAt(at + 1)
  const low = text.charCodeAt(at + 2)
  if (high > 0x7f || low > 0x7f) return -1
  // Negative if either digit is invalid.
  return ((HEX[high] as number) << 4) | (HEX[low] as number)
}

/** Length of the UTF-8 sequence that a byte above 7F begins; 0 if it cannot begin one. */
function sequenceLength(byte: number): number {
  if (byte >= 0xc2 && byte <= 0xdf) return 2
  if (byte >= 0xe0 && byte <= 0xef) return 3
  return byte >= 0xf0 && byte <= 0xf4 ? 4 : 0
}

const LEAD_BITS = [0, 0x7f, 0x1f, 0x0f, 0x07] as const
const LEAST = [0, 0, 0x80, 0x800, 0x10000] as const

/** The code point of a sequence of `length` escaped bytes; -1 if it is invalid or overlong. */
function pointAt(text: string, at: number, to: number, length: number): number {
  let point = byteAt(text, at, to) & (LEAD_BITS[length] ?? 0)
  for (let index = 1; index < length; index += 1) {
    const byte = byteAt(text, at + 3 * index, to)
    if (byte < 0x80 || byte > 0xbf) return -1
    point = point * 64 + (byte & 0x3f)
  }
  const isSurrogate = point >= 0xd800 && point <= 0xdfff
  const isOutside = length === 0 || point < (LEAST[length] ?? 0) || point > 0x10ffff
  return isSurrogate || isOutside ? -1 : point
}

/** Encoding of each byte: as its character, or escaped. */
export interface PercentCodes {
  readonly isKept: Uint8Array
  readonly byByte: readonly string[]
}

const KEPT_IN_FORMS = /[\w*.-]/

/**
 * Form encoding that also escapes the characters of `separators`. A blank is `+` if `plusIsBlank`,
 * otherwise `%20`.
 */
export function percentCodes(separators: string, plusIsBlank: boolean): PercentCodes {
  const chars = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte))
  const isKept = chars.map((char) => KEPT_IN_FORMS.test(char) && !separators.includes(char))
  const blank = plusIsBlank ? '+' : '%20'
  const byByte = chars.map((char, byte) => {
    if (char === ' ') return blank
    return isKept[byte] ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  })
  return { isKept: Uint8Array.from(isKept, Number), byByte }
}

/** Unpaired surrogates become U+FFFD, as in every conversion to UTF-8. */
export function encodePercent(text: string, { isKept, byByte }: PercentCodes): string {
  const length = lengthOf(text)
  let at = 0
  while (at < length && isKept[codeAt(text, at)] === 1) at += 1
  if (at === length) return text
  let encoded = text.slice(0, at)
  for (const byte of Buffer.from(text.slice(at))) encoded += byByte[byte]
  return encoded
}
