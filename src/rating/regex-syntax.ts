/**
 * The syntax of JavaScript's regular expressions, as far as it must be known to run one in bounded
 * time: how much backtracking it can need at most, and how the same is written for RE2.
 */

/** What a linear engine cannot do, or means differently. */
export class UnsupportedRegex extends Error {}

/** The most ways that a backtracking engine may try from one position. */
export interface Backtracking {
  /** Product of all choices; infinite where a group is repeated. */
  ways: number
  /** Repetitions without an end: each multiplies the ways by the length of the text. */
  unbounded: number
}

/** A quantifier at the beginning of a text. */
const QUANTIFIER = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/

interface Quantifier {
  /** As it is written. */
  text: string
  min: number
  max: number
}

function quantifierAt(source: string, at: number): Quantifier | null {
  const [text, sign, from, comma, to] = QUANTIFIER.exec(source.slice(at, at + 32)) ?? []
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

/**
 * How much a backtracking engine can have to do, from the structure alone. The expression compiles.
 */
export function backtrackingOf(source: string): Backtracking {
  let unbounded = 0
  /** Of the groups around: ways of the alternatives before, and of the one that is read. */
  const outer: { before: number; ways: number }[] = []
  let before = 0
  let ways = 1
  let at = 0
  while (at < source.length) {
    const sign = source[at]
    let choices = 1
    let isGroup = false
    if (sign === '(') {
      outer.push({ before, ways })
      before = 0
      ways = 1
      // What follows a question mark is no quantifier of anything.
      at += source[at + 1] === '?' ? 2 : 1
      continue
    }
    if (sign === '|') {
      before += ways
      ways = 1
      at += 1
      continue
    }
    if (sign === ')') {
      choices = before + ways
      isGroup = true
      const around = outer.pop() ?? { before: 0, ways: 1 }
      before = around.before
      ways = around.ways
    }
    at = sign === '[' ? classEnd(source, at) : at + (sign === '\\' ? 2 : 1)
    const quantifier = quantifierAt(source, at)
    if (quantifier !== null) {
      const { min, max, text } = quantifier
      at += text.length
      if (isGroup) choices = max <= 1 ? choices + 1 : Number.POSITIVE_INFINITY
      else if (max === Number.POSITIVE_INFINITY) unbounded += 1
      else choices *= max - min + 1
    }
    ways *= choices
  }
  return { ways: before + ways, unbounded }
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
      text += quantifier.text
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

const CODE = /^\\(?:x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]+)\})/i

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
  const [whole, ...codes] = CODE.exec(source.slice(at, at + 16)) ?? []
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
