/**
 * The syntax of JavaScript's regular expressions, as far as needed to run them in bounded time: an
 * upper bound of backtracking, and the translation to RE2.
 */

/**
 * The expression uses a feature that a linear engine does not support or interprets differently.
 */
export class UnsupportedRegex extends Error {}

/** Upper bound of the work of a backtracking engine from one position. */
export interface Backtracking {
  /** Product of all choices; infinite if a group is repeated. */
  ways: number
  /** Number of unbounded repetitions: each multiplies the ways by the length of the text. */
  unbounded: number
  /** Maximum number of characters that each way examines, apart from those repetitions. */
  length: number
  /** Whether the only position is the beginning (without the flag m). */
  isAnchored: boolean
}

/** A quantifier, with any number of digits. */
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y

interface Quantifier {
  /** The source text. */
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

/** Position after the class that begins at `at`. */
function classEnd(source: string, at: number): number {
  let end = at + 1
  while (source[end] !== ']') end += source[end] === '\\' ? 2 : 1
  return end + 1
}

/**
 * A code point escape. Without the flag u it means the letter `u` repeated, which is not a choice
 * either.
 */
const CODE_POINT = /\\u\{[\da-f]+\}/iy

/** Position after a class, an escape (or its first two characters), or a character. */
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
/** A back reference may compare up to the whole text. */
const BACK_REFERENCE: Part = { ways: 1, length: Number.POSITIVE_INFINITY }

function eitherOf(one: Part, other: Part): Part {
  return { ways: one.ways + other.ways, length: Math.max(one.length, other.length) }
}

/** Computes the bound from the structure alone. Expects an expression that compiles. */
export function backtrackingOf(source: string): Backtracking {
  let unbounded = 0
  /** For each enclosing group: its previous alternatives, and the current one. */
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
      // A question mark after the parenthesis is not a quantifier.
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

/** Whitespace of JavaScript, which includes more characters than that of RE2. */
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

/** A character or a set of characters, in RE2 syntax within brackets. */
interface Piece {
  /** Position after it in the source. */
  end: number
  isSet: boolean
  text: string
}

/**
 * Translates an expression to RE2, without captures. Throws `UnsupportedRegex` for look-around,
 * back references and unpaired surrogates. Expects an expression that compiles with these flags.
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

/** RE2 does not accept leading zeros in quantifiers. */
function quantifierText({ text }: Quantifier): string {
  return text.replace(/\d+/g, (digits) => digits.replace(/^0+(?=\d)/, ''))
}

/** Position after the opening of a group. */
function groupStart(source: string, at: number): number {
  if (source[at + 1] !== '?') return at + 1
  if (source[at + 2] === ':') return at + 3
  const name = /^\(\?<[^=!][^>]*>/.exec(source.slice(at))
  if (name === null) throw new UnsupportedRegex('has a look-around')
  return at + name[0].length
}

/** Translates the content of a class. Returns it with brackets. */
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
    // Next to a set the hyphen is an ordinary character.
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
  // Without its letter, `\c` is a backslash. Any other escaped character represents itself.
  if (sign === 'c') return { end: at + 1, isSet: false, text: characterText(0x5c) }
  return pieceOf(source, at + 1, isUnicode)
}

function pieceOf(source: string, at: number, isUnicode: boolean): Piece {
  const code = source.codePointAt(at) as number
  // Without the flag u JavaScript treats a surrogate pair as two characters.
  if (code > 0xffff && !isUnicode) throw new UnsupportedRegex('has a surrogate pair')
  return { end: at + (code > 0xffff ? 2 : 1), isSet: false, text: characterText(code) }
}

/** Letters, digits and spaces as they are; other characters, which may be special, by code. */
function characterText(code: number): string {
  if (code >= 0xd800 && code <= 0xdfff) throw new UnsupportedRegex('has an unpaired surrogate')
  const character = String.fromCodePoint(code)
  return /[\p{L}\p{N} ]/u.test(character) ? character : `\\x{${code.toString(16)}}`
}
