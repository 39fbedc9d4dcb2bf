/** Positions of the values of a JSON text, and of its first error. */

import { messageLimits } from '../../../file-types/message-limits.ts'
import type { Place, Places } from '../codec.ts'

export function jsonPlaces(text: string): Places {
  const reader = new PlaceReader(text)
  const root: Place = { at: reader.skipSpace(), members: new Map() }
  const isValid = reader.value(root.members, 1) && reader.skipSpace() === text.length
  return { root, errorAt: isValid ? null : reader.at }
}

const SPACE = /[ \t\r\n]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const HEX = /[0-9A-Fa-f]{4}/y
const WORDS: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' }
const ESCAPED = '"\\/bfnrt'

/** Each method returns false at an error, with `at` at the first wrong character. */
class PlaceReader {
  at = 0
  readonly #text: string
  #members = 0

  constructor(text: string) {
    this.#text = text
  }

  skipSpace(): number {
    SPACE.lastIndex = this.at
    SPACE.test(this.#text)
    this.at = SPACE.lastIndex
    return this.at
  }

  /** `depth` of the value, from 1. */
  value(members: Map<string, Place>, depth: number): boolean {
    const sign = this.#text[this.at] ?? ''
    if (sign === '{' || sign === '[') return this.#container(sign, members, depth)
    if (sign === '"') return this.#string() !== null
    const word = WORDS[sign]
    return word === undefined ? this.#number() : this.#word(word)
  }

  #container(opening: '{' | '[', members: Map<string, Place>, depth: number): boolean {
    if (depth > messageLimits.depth) return false
    const closing = opening === '{' ? '}' : ']'
    this.at += 1
    this.skipSpace()
    if (this.#take(closing)) return true
    for (let index = 0; ; index += 1) {
      if (!this.#member(opening === '{' ? null : String(index), members, depth)) return false
      this.skipSpace()
      if (this.#take(closing)) return true
      if (!this.#take(',')) return false
      this.skipSpace()
    }
  }

  /** `index` of an element of a list; null for a member of an object, whose name comes first. */
  #member(index: string | null, members: Map<string, Place>, depth: number): boolean {
    const start = this.at
    const name = index ?? (this.#text[start] === '"' ? this.#string() : null)
    if (name === null) return false
    this.#members += 1
    if (this.#members > messageLimits.members || name.length > messageLimits.nameChars) {
      this.at = start
      return false
    }
    if (index === null) {
      this.skipSpace()
      if (!this.#take(':')) return false
      this.skipSpace()
    }
    const place: Place = { at: this.at, members: new Map() }
    members.set(name, place)
    return this.value(place.members, depth + 1)
  }

  #string(): string | null {
    const start = this.at
    this.at += 1
    for (;;) {
      const sign = this.#text[this.at]
      if (sign === undefined || sign < ' ') return null
      this.at += 1
      if (sign === '"') return JSON.parse(this.#text.slice(start, this.at)) as string
      if (sign === '\\' && !this.#escape()) return null
    }
  }

  #escape(): boolean {
    const sign = this.#text[this.at] ?? ''
    if (sign === 'u') {
      HEX.lastIndex = this.at + 1
      if (!HEX.test(this.#text)) return false
      this.at = HEX.lastIndex
      return true
    }
    if (sign === '' || !ESCAPED.includes(sign)) return false
    this.at += 1
    return true
  }

  #number(): boolean {
    NUMBER.lastIndex = this.at
    if (!NUMBER.test(this.#text)) return false
    this.at = NUMBER.lastIndex
    return true
  }

  #word(word: string): boolean {
    for (const sign of word) if (!this.#take(sign)) return false
    return true
  }

  #take(sign: string): boolean {
    if (this.#text[this.at] !== sign) return false
    this.at += 1
    return true
  }
}
