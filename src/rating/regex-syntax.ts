/**
 * The syntax of JavaScript's regular expressions, as far as it must be known to run one in bounded
 * time: how much backtracking it can need at most, and how the same is written for RE2.
 */

/** What a linear engine cannot do, or means differently. */
export class UnsupportedRegex extends Error {}

/** The most that a backtracking engine may have to do from one position. */
export interface Backtracking {
  /** Product of all choices; infinite where a group is repeated. */
  ways: number
  /** Repetitions without an end: each multiplies the ways by the length of the text. */
  unbounded: number
  /** Characters that each of the ways may have to look at, apart from those repetitions. */
  length: number
  /** Whether there is but one position, the beginning (without the flag m). */
  isAnchored: boolean
}

/** A quantifier, however many digits it has. */
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y

interface Quantifier {
  /** As it is written. */
  text: string
  min: number
  max: number
}

function quantifierAt(source: string, at: number): Quantifier | null {
  QUANTIFIER.lastIndex = at
  const [text, sign, from, comma, to] = QUANTIFIER.exec(source) ?? []
  if (text === undefined) return null
  if (sign !== undefined) {
    return { text, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
  }
  const min = Number(from)
  if (comma === undefined) return { text, min, max: min }
  return { text, min, max: to === '' ? Number.POSITIVE_INFINITY : Number(to) }
}

/** Position behind a class that begins at `at`. */
function classEnd(source: string, at: number): number {
  let end = at + 1
  while (source[end] !== ']') end += source[end] === '\\' ? 2 : 1
  return end + 1
}

/** A character by its number: without the flag u a `u` so many times, which is no choice either. */
const CODE_POINT = /\\u\{[\da-f]+\}/iy

/** Position behind a class, an escape (or its first two characters), or a character. */
function atomEnd(source: string, at: number): number {
  if (source[at] === '[') return classEnd(source, at)
  if (source[at] !== '\\') return at + 1
  CODE_POINT.lastIndex = at
  return at + (CODE_POINT.exec(source)?.[0].length ?? 2)
}

/** A part of an expression. */
type Part = Pick<Backtracking, 'ways' | 'length'>

const NO_PART: Part = { ways: 0, length: 0 }
const EMPTY: Part = { ways: 1, length: 0 }
const CHARACTER: Part = { ways: 1, length: 1 }
/** It may be compared with as much as there is. */
const BACK_REFERENCE: Part = { ways: 1, length: Number.POSITIVE_INFINITY }

function eitherOf(one: Part, other: Part): Part {
  return { ways: one.ways + other.ways, length: Math.max(one.length, other.length) }
}

/**
 * How much a backtracking engine can have to do, from the structure alone. The expression compiles.
 */
export function backtrackingOf(source: string): Backtracking {
  let unbounded = 0
  /** Of the groups around: the alternatives before, and the one that is read. */
  const outer: { before: Part; own: Part }[] = []
  let before = NO_PART
  let own = EMPTY
  let at = 0
  let isAnchored = source.startsWith('^')
  while (at < source.length) {
    const sign = source[at]
    if (sign === '(') {
      outer.push({ before, own })
      before = NO_PART
      own = EMPTY
      // What follows a question mark is no quantifier of anything.
      at += source[at + 1] === '?' ? 2 : 1
      continue
    }
    if (sign === '|') {
      before = eitherOf(before, own)
      own = EMPTY
      if (outer.length === 0) isAnchored = false
      at += 1
      continue
    }
    const isGroup = sign === ')'
    let part = CHARACTER
    if (isGroup) {
      part = eitherOf(before, own)
      const around = outer.pop()
      before = around?.before ?? NO_PART
      own = around?.own ?? EMPTY
    } else if (sign === '\\' && /[1-9k]/.test(source[at + 1] ?? '')) part = BACK_REFERENCE
    at = atomEnd(source, at)
    const quantifier = quantifierAt(source, at)
    if (quantifier !== null) {
      at += quantifier.text.length
      if (!isGroup && quantifier.max === Number.POSITIVE_INFINITY) unbounded += 1
      part = repeated(part, quantifier, isGroup)
    }
    own = { ways: own.ways * part.ways, length: own.length + part.length }
  }
  return { ...eitherOf(before, own), unbounded, isAnchored }
}

function repeated({ ways, length }: Part, { min, max }: Quantifier, isGroup: boolean): Part {
  if (isGroup) return { ways: max <= 1 ? ways + 1 : Number.POSITIVE_INFINITY, length }
  if (max === Number.POSITIVE_INFINITY) return { ways, length: length * Math.max(min, 1) }
  return { ways: ways * (max - min + 1), length: max === 0 ? 0 : length * max }
}

/** What JavaScript takes for a blank, which is more than RE2 does. */
const BLANKS =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}' +
  '\\x{205f}\\x{3000}\\x{feff}'
const NO_BLANKS =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}' +
  '\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}' +
  '\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'
const ANY = '[\\x{0}-\\x{10ffff}]'
const NOTHING = '[^\\x{0}-\\x{10ffff}]'
const NO_LINE_END = '[^\\n\\r\\x{2028}\\x{2029}]'

/** One character or a set of them, as RE2 writes it within brackets; and what it was in all. */
interface Piece {
  /** Position behind it. */
  end: number
  isSet: boolean
  text: string
}

/**
 * The same expression for RE2, without captures. Throws `UnsupportedRegex` for look-around, back
 * references and halves of surrogate pairs. The expression compiles with these flags.
 */
export function toRe2(source: string, flags: string): string {
  const isUnicode = flags.includes('u')
  const dot = flags.includes('s') ? ANY : NO_LINE_END
  let text = ''
  let at = 0
  while (at < source.length) {
    const sign = source[at] as string
    const quantifier = quantifierAt(source, at)
    if (quantifier !== null) {
      text += quantifierText(quantifier)
      at += quantifier.text.length
    } else if (sign === '(') {
      text += '(?:'
      at = groupStart(source, at)
    } else if (sign === '[') {
      const end = classEnd(source, at)
      text += classText(source.slice(at + 1, end - 1), isUnicode)
      at = end
    } else if (sign === '\\' && /[bB]/.test(source[at + 1] ?? '')) {
      text += source.slice(at, at + 2)
      at += 2
    } else if ('|)^$.'.includes(sign)) {
      text += sign === '.' ? dot : sign
      at += 1
    } else {
      const piece = pieceAt(source, at, isUnicode)
      text += piece.isSet ? `[${piece.text}]` : piece.text
      at = piece.end
    }
  }
  return text
}

/** RE2 takes digits behind a zero for no quantifier. */
function quantifierText({ text }: Quantifier): string {
  return text.replace(/\d+/g, (digits) => digits.replace(/^0+(?=\d)/, ''))
}

/** Position behind what opens a group. */
function groupStart(source: string, at: number): number {
  if (source[at + 1] !== '?') return at + 1
  if (source[at + 2] === ':') return at + 3
  const name = /^\(\?<[^=!][^>]*>/.exec(source.slice(at))
  if (name === null) throw new UnsupportedRegex('looks around')
  return at + name[0].length
}

/** What is between the brackets of a class, with its brackets. */
function classText(inner: string, isUnicode: boolean): string {
  const isNegated = inner.startsWith('^')
  let at = isNegated ? 1 : 0
  if (at === inner.length) return isNegated ? ANY : NOTHING
  let text = ''
  while (at < inner.length) {
    const from = classPiece(inner, at, isUnicode)
    at = from.end
    text += from.text
    if (inner[at] !== '-' || at + 1 === inner.length) continue
    const to = classPiece(inner, at + 1, isUnicode)
    at = to.end
    // Beside a set it is a hyphen like any other.
    text += from.isSet || to.isSet ? `\\-${to.text}` : `-${to.text}`
  }
  return `[${isNegated ? '^' : ''}${text}]`
}

function classPiece(inner: string, at: number, isUnicode: boolean): Piece {
  if (inner.startsWith('\\b', at)) return { end: at + 2, isSet: false, text: '\\x{8}' }
  return pieceAt(inner, at, isUnicode)
}

const CODE = /\\(?:x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]+)\})/iy

function pieceAt(source: string, at: number, isUnicode: boolean): Piece {
  if (source[at] !== '\\') return pieceOf(source, at, isUnicode)
  const sign = source[at + 1] as string
  const end = at + 2
  if (/[dDwW]/.test(sign)) return { end, isSet: true, text: `\\${sign}` }
  if (sign === 's') return { end, isSet: true, text: BLANKS }
  if (sign === 'S') return { end, isSet: true, text: NO_BLANKS }
  if (/[tnvfr]/.test(sign)) return { end, isSet: false, text: `\\${sign}` }
  if (/[1-9k]/.test(sign)) throw new UnsupportedRegex('has a back reference')
  if (sign === '0') return { end, isSet: false, text: characterText(0) }
  if (isUnicode && /[pP]/.test(sign)) {
    const close = source.indexOf('}', at) + 1
    return { end: close, isSet: true, text: source.slice(at, close) }
  }
  CODE.lastIndex = at
  const [whole, ...codes] = CODE.exec(source) ?? []
  if (whole !== undefined && (isUnicode || codes[2] === undefined)) {
    const code = Number.parseInt(codes.find((digits) => digits !== undefined) as string, 16)
    return { end: at + whole.length, isSet: false, text: characterText(code) }
  }
  const control = /^\\c([a-z])/i.exec(source.slice(at, at + 3))
  if (control !== null) {
    const code = (control[1] as string).charCodeAt(0) % 32
    return { end: at + 3, isSet: false, text: characterText(code) }
  }
  // Without its letter it is a backslash; any other character stands for itself.
  if (sign === 'c') return { end: at + 1, isSet: false, text: characterText(0x5c) }
  return pieceOf(source, at + 1, isUnicode)
}

function pieceOf(source: string, at: number, isUnicode: boolean): Piece {
  const code = source.codePointAt(at) as number
  // Without the flag u they are two characters to JavaScript.
  if (code > 0xffff && !isUnicode) throw new UnsupportedRegex('has half characters')
  return { end: at + (code > 0xffff ? 2 : 1), isSet: false, text: characterText(code) }
}

/** Letters and digits as they are; what might have a meaning by its number. */
function characterText(code: number): string {
  if (code >= 0xd800 && code <= 0xdfff) throw new UnsupportedRegex('has half characters')
  const character = String.fromCodePoint(code)
  return /[\p{L}\p{N} ]/u.test(character) ? character : `\\x{${code.toString(16)}}`
}
