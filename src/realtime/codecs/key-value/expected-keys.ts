import { isForm, type KeyValueSyntax } from '../../../file-types/file-type.ts'
import type { MessageRecord } from '../message-record.ts'
import { decodePercent } from './percent.ts'
import { type PairValue, recordOf, type Shape, shapeOf } from './shape.ts'
import { KeyValueTree } from './tree.ts'

const CARRIAGE_RETURN = 0x0d
/** Limit of cached characters of all keys, including a fixed amount per node. */
const CACHED_CHARS_MAX = 1 << 20
const NODE_CHARS = 32
/** Limit of distinct keys that may follow the same keys. */
const NEXT_MAX = 8
/**
 * Unknown messages that are all learned, in excess of known ones; beyond that, one in
 * `LEARNED_RATIO`.
 */
const LEARNED_MAX = 256
const LEARNED_RATIO = 16

/** Cached knowledge of messages that begin with the keys on the path to this node. */
interface KeyNode {
  /** The last of these keys as written, including the value separator. */
  readonly start: Buffer
  next: readonly KeyNode[]
  /** Shape of messages that end here; null if absent. */
  shape: Shape | null
}

/**
 * Caches the structure of messages by the sequence of their keys. A client sends the same keys in
 * the same order, so the member that each key denotes is determined once. Returns a message only if
 * it is valid; problems are reported by `KeyValueTree`, which also determines all shapes.
 */
export class ExpectedKeys {
  readonly #syntax: KeyValueSyntax
  readonly #hasEscapes: boolean
  readonly #plusIsBlank: boolean
  readonly #isPerLine: boolean
  readonly #isUsed: boolean
  #root: KeyNode = emptyNode()
  #charsLeft = CACHED_CHARS_MAX
  #misses = 0
  /** Number of pairs in the last message. */
  #pairs = 0

  constructor(syntax: KeyValueSyntax) {
    const { pairSeparator, valueSeparator, quoting } = syntax
    this.#syntax = syntax
    this.#hasEscapes = quoting === 'percent'
    this.#plusIsBlank = isForm(syntax)
    this.#isPerLine = pairSeparator === '\n'
    // A longer separator could begin within a key and end behind it.
    this.#isUsed = pairSeparator.length === 1 && valueSeparator.length === 1
  }

  /**
   * The message in a text that is ASCII without quotes; `body` holds the same bytes. Null if it has
   * unknown keys or is invalid.
   */
  read(text: string, body: Buffer): MessageRecord | null {
    const { pairSeparator } = this.#syntax
    const { length } = text
    const values = new Array<PairValue>(this.#pairs)
    let percentAt = this.#hasEscapes ? indexOrEnd(text, '%', 0) : length
    let plusAt = this.#plusIsBlank ? indexOrEnd(text, '+', 0) : length
    let pairs = 0
    let at = 0
    let node = this.#root
    while (at < length) {
      const next = nextNode(node, body, at)
      if (next === null) {
        if (!text.startsWith(pairSeparator, at)) return null
        at += 1
        continue
      }
      node = next
      const start = at + node.start.length
      const found = text.indexOf(pairSeparator, start)
      at = found < 0 ? length : found
      const end = this.#isPerLine ? lineEnd(text, start, at) : at
      if (percentAt < start) percentAt = indexOrEnd(text, '%', start)
      if (plusAt < start) plusAt = indexOrEnd(text, '+', start)
      if (percentAt < end || plusAt < end) {
        const value = decodePercent(text, start, end, this.#plusIsBlank)
        if (typeof value !== 'string') return null
        values[pairs] = value
      } else {
        values[pairs] = start < end ? text.slice(start, end) : null
      }
      pairs += 1
      at += 1
    }
    if (node.shape === null) return null
    this.#pairs = pairs
    if (this.#misses > 0) this.#misses -= 1
    return recordOf(node.shape, values)
  }

  /** Caches the keys of a valid text without quotes. */
  learn(text: string): void {
    if (!this.#isUsed) return
    this.#misses += 1
    if (this.#misses > LEARNED_MAX && this.#misses % LEARNED_RATIO !== 0) return
    const starts = this.#startsOf(text)
    if (starts === null) return
    const chars = starts.reduce((sum, { length }) => sum + length + NODE_CHARS, 0)
    if (chars > this.#charsLeft) {
      this.#root = emptyNode()
      this.#charsLeft = CACHED_CHARS_MAX
    }
    if (chars > this.#charsLeft) return
    this.#charsLeft -= chars
    const shape = this.#shapeOf(starts)
    let node = this.#root
    for (const start of starts) node = withNext(node, start)
    node.shape = shape
  }

  /** Keys with their value separators; null if a pair has none. */
  #startsOf(text: string): string[] | null {
    const { pairSeparator, valueSeparator } = this.#syntax
    const starts: string[] = []
    let at = 0
    while (at < text.length) {
      const next = indexOrEnd(text, pairSeparator, at)
      if (next > at) {
        const split = indexOrEnd(text, valueSeparator, at)
        if (split >= next) return null
        starts.push(text.slice(at, split + 1))
      }
      at = next + 1
    }
    return starts
  }

  /** The member that each key denotes, determined by the tree. */
  #shapeOf(starts: readonly string[]): Shape | null {
    const tree = new KeyValueTree(this.#syntax.repeated)
    for (const [pair, start] of starts.entries()) {
      const end = start.length - 1
      const key = this.#hasEscapes
        ? decodePercent(start, 0, end, this.#plusIsBlank)
        : start.slice(0, end)
      if (typeof key !== 'string' || !tree.put(key, String(pair))) return null
    }
    return tree.close() ? shapeOf(tree.message) : null
  }
}

function emptyNode(): KeyNode {
  return { start: Buffer.alloc(0), next: [], shape: null }
}

/** The node of the next key in the text; null if that key is unknown. */
function nextNode({ next }: KeyNode, body: Buffer, at: number): KeyNode | null {
  for (let index = 0; index < next.length; index += 1) {
    const node = next[index] as KeyNode
    if (isAt(body, at, node.start)) return node
  }
  return null
}

function isAt(body: Buffer, at: number, expected: Buffer): boolean {
  const { length } = expected
  for (let index = 0; index < length; index += 1) {
    if (body[at + index] !== expected[index]) return false
  }
  return true
}

function withNext(node: KeyNode, text: string): KeyNode {
  const start = Buffer.from(text)
  const same = node.next.find((next) => next.start.equals(start))
  if (same !== undefined) return same
  const next: KeyNode = { start, next: [], shape: null }
  node.next = [...node.next.slice(1 - NEXT_MAX), next]
  return next
}

function indexOrEnd(text: string, expected: string, from: number): number {
  const found = text.indexOf(expected, from)
  return found < 0 ? text.length : found
}

/** End of a line, excluding the carriage return of CR LF. */
function lineEnd(text: string, start: number, end: number): number {
  return end > start && text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end
}
