/** Reads stored values that a `Writer` wrote. Throws `RangeError` if bytes are missing. */
import { UNLIMITED } from '../domain/tariff.ts'
import { codeAt, lengthOf } from '../domain/text-codes.ts'
import { FOREVER_MS } from '../domain/time.ts'
import { NUMBER } from './writer.ts'

/** Longest word that is cached. */
const WORD_BYTES_MAX = 32
const WORDS_CACHED = 512
/** Cache of words by a hash of their bytes: usage types and the like occur often. */
const words: string[] = new Array<string>(WORDS_CACHED).fill('')

export class Reader {
  readonly #buffer: Buffer
  readonly #view: DataView
  #at: number

  constructor(bytes: Buffer, from = 0) {
    this.#buffer = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#at = from
  }

  get isAtEnd(): boolean {
    return this.#at === this.#buffer.length
  }

  u8(): number {
    const value = this.#buffer[this.#at]
    if (value === undefined) throw new RangeError('the value ends too early')
    this.#at += 1
    return value
  }

  f64(): number {
    const value = this.#view.getFloat64(this.#at, true)
    this.#at += 8
    return value
  }

  number(): number {
    const first = this.u8()
    if (first < NUMBER.TWO_BYTES) return first
    if (first < NUMBER.THREE_BYTES) return ((first & 0x1f) << 8) | this.u8()
    if (first < NUMBER.BYTES) return ((first & 0xf) << 16) | (this.u8() << 8) | this.u8()
    return this.#wideNumber(first)
  }

  /** An instant relative to another one, epoch ms. */
  time(sinceMs: number): number {
    const first = this.#buffer[this.#at]
    const isWhole = first === NUMBER.FOREVER || first === NUMBER.F64
    return isWhole ? this.number() : sinceMs + this.number()
  }

  string(): string {
    return this.text(this.number())
  }

  /** `length` bytes of UTF-8. */
  text(length: number): string {
    const from = this.#skip(length)
    return this.#buffer.toString('utf8', from, this.#at)
  }

  /** A text that many values share: returned from a cache. */
  word(): string {
    const length = this.number()
    const from = this.#skip(length)
    if (length === 0) return ''
    if (length > WORD_BYTES_MAX) return this.#buffer.toString('utf8', from, this.#at)
    const buffer = this.#buffer
    const at = this.#at
    let hash = length
    let bits = 0
    for (let index = from; index < at; index += 1) {
      const byte = buffer[index] as number
      hash = Math.imul(hash, 31) + byte
      bits |= byte
    }
    if (bits > 0x7f) return buffer.toString('utf8', from, at)
    const slot = hash & (WORDS_CACHED - 1)
    const cached = words[slot] as string
    if (this.#matchesWord(cached, from)) return cached
    const word = buffer.toString('latin1', from, at)
    words[slot] = word
    return word
  }

  /** The bytes of a chunk, without copying them. */
  chunk(): Buffer {
    const from = this.#skip(this.number())
    return this.#buffer.subarray(from, this.#at)
  }

  #matchesWord(word: string, from: number): boolean {
    const length = lengthOf(word)
    if (length !== this.#at - from) return false
    for (let index = 0; index < length; index += 1) {
      if (codeAt(word, index) !== this.#buffer[from + index]) return false
    }
    return true
  }

  #wideNumber(first: number): number {
    if (first === NUMBER.UNLIMITED) return UNLIMITED
    if (first === NUMBER.FOREVER) return FOREVER_MS
    if (first === NUMBER.NEGATIVE && this.#buffer[this.#at] !== first) return -1 - this.number()
    if (first === NUMBER.F64) return this.f64()
    const count = first - NUMBER.BYTES
    if (count < 3 || count > 7) throw new RangeError('there is no such number')
    let value = 0
    let scale = 1
    for (let index = 0; index < count; index += 1) {
      value += this.u8() * scale
      scale *= 0x100
    }
    return value
  }

  /** Skips bytes and returns the position where they begin. */
  #skip(count: number): number {
    const from = this.#at
    if (!(count >= 0) || count > this.#buffer.length - from) {
      throw new RangeError('the value ends too early')
    }
    this.#at = from + count
    return from
  }
}
