import type { KeyValueSyntax } from '../../../file-types/file-type.ts'
import type { DecodeError } from '../codec.ts'
import { Finder } from '../json/finder.ts'
import type { KeyValueTree } from './tree.ts'

const QUOTE = 0x22
const CARRIAGE_RETURN = 0x0d

/** Reads all pairs of a text with quotes into the tree, up to the first error. */
export function readQuotedPairs(
  text: string,
  syntax: KeyValueSyntax,
  tree: KeyValueTree,
): DecodeError | null {
  return new QuotedPairs(text, syntax, tree).read()
}

class QuotedPairs {
  readonly #text: string
  readonly #syntax: KeyValueSyntax
  readonly #tree: KeyValueTree
  readonly #pairEnds: Finder
  readonly #splits: Finder
  /** Position of the reader. */
  #at = 0
  #error: DecodeError | null = null

  constructor(text: string, syntax: KeyValueSyntax, tree: KeyValueTree) {
    this.#text = text
    this.#syntax = syntax
    this.#tree = tree
    this.#pairEnds = new Finder(text, syntax.pairSeparator)
    this.#splits = new Finder(text, syntax.valueSeparator)
  }

  read(): DecodeError | null {
    while (this.#at < this.#text.length && this.#error === null) {
      if (this.#pairEnd() > this.#at) this.#readPair()
      this.#at = this.#pairEnds.from(this.#at) + this.#syntax.pairSeparator.length
    }
    return this.#error
  }

  #readPair(): void {
    const start = this.#at
    this.#tree.at = start
    const key = this.#key()
    if (key === null) return
    const value = this.#isAt(this.#syntax.valueSeparator) ? this.#value(key) : ''
    if (value === null) return
    if (key === '') {
      this.#tree.at = start
      this.#fail('body', 'has a pair without a key')
    } else if (this.#at !== this.#pairEnd()) this.#fail(key, 'has text after a closing quote')
    else if (!this.#tree.put(key, value === '' ? null : value)) this.#error = this.#tree.error
  }

  /** Reads the key; null after an error. */
  #key(): string | null {
    if (this.#isAtQuote()) return this.#unquote('body')
    const end = this.#pairEnd()
    const split = this.#splits.from(this.#at)
    return this.#plain(split + this.#syntax.valueSeparator.length <= end ? split : end)
  }

  /** Reads the value separator and the value; null after an error. */
  #value(key: string): string | null {
    this.#at += this.#syntax.valueSeparator.length
    this.#tree.at = this.#at
    return this.#isAtQuote() ? this.#unquote(key) : this.#plain(this.#pairEnd())
  }

  /** Reads unquoted text up to `end`. */
  #plain(end: number): string {
    const start = this.#at
    this.#at = end
    return this.#text.slice(start, end)
  }

  /** Reads quoted text, in which two quotes stand for one. Null after an error. */
  #unquote(field: string): string | null {
    let unquoted = ''
    let start = this.#at + 1
    for (;;) {
      const end = this.#text.indexOf('"', start)
      if (end < 0) return this.#fail(field, 'has no closing quote')
      unquoted += this.#text.slice(start, end)
      this.#at = end + 1
      if (!this.#isAtQuote()) return unquoted
      unquoted += '"'
      start = end + 2
    }
  }

  /** End of the current pair; with one pair per line, excluding the carriage return of CR LF. */
  #pairEnd(): number {
    const end = this.#pairEnds.from(this.#at)
    const isLine = this.#syntax.pairSeparator === '\n' && end > this.#at
    return isLine && this.#text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end
  }

  #isAtQuote(): boolean {
    return this.#text.charCodeAt(this.#at) === QUOTE
  }

  /** Whether the rest of the pair starts with this text. */
  #isAt(text: string): boolean {
    return this.#at < this.#pairEnd() && this.#text.startsWith(text, this.#at)
  }

  #fail(field: string, why: string): null {
    // If the key is also empty, the problem concerns the whole body.
    this.#error = { field: field === '' ? 'body' : field, why }
    return null
  }
}
