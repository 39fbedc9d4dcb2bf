import { isAscii, isUtf8 } from 'node:buffer'
import { isForm, type KeyValueSyntax } from '../../../file-types/file-type.ts'
import { limitProblems, messageLimits } from '../../../file-types/message-limits.ts'
import type { DecodeError, Place, Places } from '../codec.ts'
import type { MessageParser, ParsedMessage } from '../encoder.ts'
import { Finder } from '../json/finder.ts'
import { refused } from '../message-record.ts'
import { ExpectedKeys } from './expected-keys.ts'
import { decodePercent, type PercentProblem } from './percent.ts'
import { readQuotedPairs } from './quotes.ts'
import type { PairValue } from './shape.ts'
import { KeyValueTree } from './tree.ts'

/**
 * Parser of `key=value` text (docs/WIRE.md, "Key-value"). A value is a text, or null if it is empty
 * or has no separator. Runs in linear time.
 */
export function createKeyValueParser(syntax: KeyValueSyntax): MessageParser {
  const expectedKeys = new ExpectedKeys(syntax)
  function parsedAscii(body: Buffer): ParsedMessage {
    const text = withoutNewline(body.toString('latin1'))
    const reader = readerOf(text, syntax)
    if (reader === readQuotedPairs) return parsedBy(reader, text, syntax)
    const message = expectedKeys.read(text, body)
    if (message !== null) return { ok: true, message, form: null }
    const parsed = parsedBy(reader, text, syntax)
    if (parsed.ok) expectedKeys.learn(text)
    return parsed
  }
  return {
    parse(body) {
      if (body.length === 0) return refused('is empty')
      if (isAscii(body)) return parsedAscii(body)
      if (!isUtf8(body)) return refused('is not UTF-8')
      const text = withoutNewline(body.toString('utf8'))
      if (text.charCodeAt(0) === BYTE_ORDER_MARK) return refused('begins with a byte order mark')
      return parsedBy(readerOf(text, syntax), text, syntax)
    },
  }
}

const NO_KEY = 'has a pair without a key'
const BYTE_ORDER_MARK = 0xfeff
const CARRIAGE_RETURN = 0x0d

function withoutNewline(text: string): string {
  if (!text.endsWith('\n')) return text
  return text.slice(0, text.endsWith('\r\n') ? -2 : -1)
}

function readerOf(text: string, { quoting }: KeyValueSyntax): Reader {
  return quoting === 'quotes' && text.includes('"') ? readQuotedPairs : readPairs
}

/** Reads all pairs of a text into the tree, up to the first error. */
type Reader = (text: string, syntax: KeyValueSyntax, tree: KeyValueTree) => DecodeError | null

function parsedBy(read: Reader, text: string, syntax: KeyValueSyntax): ParsedMessage {
  const tree = new KeyValueTree(syntax.repeated)
  const error = read(text, syntax, tree)
  if (error !== null) {
    // A key that is too long may be part of an error before its length was checked.
    if (error.field.length > messageLimits.nameChars) return refused(limitProblems.nameChars)
    return { ok: false, error, form: null }
  }
  if (tree.pairs === 0) return refused('is empty')
  if (!tree.close()) return { ok: false, error: tree.error!, form: null }
  return { ok: true, message: tree.message, form: null }
}

/** Positions of the values of a text. */
export function keyValuePlaces(text: string, syntax: KeyValueSyntax): Places {
  const tree = new PlacedTree(syntax.repeated)
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) return { root: tree.root, errorAt: 0 }
  const plain = withoutNewline(text)
  const error = readerOf(plain, syntax)(plain, syntax, tree)
  return { root: tree.root, errorAt: error === null ? null : tree.at }
}

class PlacedTree extends KeyValueTree {
  readonly root: Place = { at: 0, members: new Map() }

  override put(key: string, value: PairValue): boolean {
    this.root.members.set(key, { at: this.at, members: new Map() })
    return super.put(key, value)
  }
}

/** Reads all pairs into the tree, up to the first error. */
function readPairs(text: string, syntax: KeyValueSyntax, tree: KeyValueTree): DecodeError | null {
  const { pairSeparator, valueSeparator } = syntax
  const isPerLine = pairSeparator === '\n'
  const decode = decoderOf(text, syntax)
  let at = 0
  let split = -1
  while (at < text.length) {
    const found = text.indexOf(pairSeparator, at)
    const next = found < 0 ? text.length : found
    const hasReturn = isPerLine && next > at && text.charCodeAt(next - 1) === CARRIAGE_RETURN
    const end = hasReturn ? next - 1 : next
    if (end > at) {
      tree.at = at
      // A separator in a later pair is not searched again, which keeps the time linear.
      if (split < at) split = indexOrEnd(text, valueSeparator, at)
      const start = split + valueSeparator.length
      const key = decode(at, start <= end ? split : end)
      const value = start < end ? decode(start, end) : null
      if (typeof key !== 'string') return { field: 'body', why: key?.why ?? NO_KEY }
      tree.at = Math.min(start, end)
      if (typeof value === 'object' && value !== null) return { field: key, why: value.why }
      if (!tree.put(key, value)) return tree.error
    }
    at = next + pairSeparator.length
  }
  return null
}

function indexOrEnd(text: string, pattern: string, from: number): number {
  const found = text.indexOf(pattern, from)
  return found < 0 ? text.length : found
}

/** The decoded part of the text; null if it is empty. */
type Decode = (from: number, to: number) => string | null | PercentProblem

function decoderOf(text: string, syntax: KeyValueSyntax): Decode {
  const plain: Decode = (from, to) => (from < to ? text.slice(from, to) : null)
  const plusIsBlank = isForm(syntax)
  const hasPlus = plusIsBlank && text.includes('+')
  if (syntax.quoting !== 'percent' || !(hasPlus || text.includes('%'))) return plain
  const percents = new Finder(text, '%')
  const pluses = new Finder(text, '+')
  return (from, to) => {
    const isPlain = percents.from(from) >= to && !(hasPlus && pluses.from(from) < to)
    return isPlain ? plain(from, to) : decodePercent(text, from, to, plusIsBlank)
  }
}
