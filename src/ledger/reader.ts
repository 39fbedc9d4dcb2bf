/** Reads stored values that a `Writer` wrote. Throws `RangeError` if bytes are missing. */
import { UNLIMITED } from '../domain/pricing/tier.ts'
import { codeAt, lengthOf } from '../domain/text-codes.ts'
import { FOREVER_MS } from '../domain/time.ts'
import { NUMBER } from './writer.ts'

/** Longest word that is cached. */
const WORD_BYTES_MAX = 32
const WORDS_CACHED = 512
const HASH_FACTOR = 0x9e3779b1
const TOO_SHORT = 'the value ends too early'
/** Cache of words by a hash of their bytes: usage types and the like occur often. */
const words: string[] = new Array<string>(WORDS_CACHED).fill('')

/** Bytes, and a view of them. */
export interface Memory {
  readonly bytes: Buffer
  readonly view: DataView
}

export function memoryOf(bytes: Buffer): Memory {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) }
}

export class Reader {
  #buffer: Buffer
  #view: DataView
  #at = 0
  #end: number

  constructor(bytes: Buffer) {
    const { view } = memoryOf(bytes)
    this.#buffer = bytes
    this.#view = view
    this.#end = bytes.length
  }

  /**
   * Goes on with the value in [from, end) of a memory with many values: a reader and a slice for
   * each would cost as much as reading it.
   */
  open({ bytes, view }: Memory, from: number, end: number): void {
    this.#buffer = bytes
    this.#view = view
    this.#at = from
    this.#end = end
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end
  }

  u8(): number {
    if (this.#at >= this.#end) throw new RangeError(TOO_SHORT)
    const value = this.#buffer[this.#at] as number
    this.#at += 1
    return value
  }

  f64(): number {
    return this.f64At(this.skip(8))
  }

  /** The number at a position that has been skipped. */
  f64At(position: number): number {
    return this.#view.getFloat64(position, true)
  }

  /** A list whose length follows, with room for its elements: growing it would take more memory. */
  list<T>(): T[] {
    const length = this.number()
    if (length > this.#end - this.#at) throw new RangeError(TOO_SHORT)
    return length === 0 ? [] : new Array<T>(length)
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
    const from = this.skip(length)
    return this.#buffer.toString('utf8', from, this.#at)
  }

  /** A text that many values share: returned from a cache. */
  word(): string {
    const length = this.number()
    const from = this.skip(length)
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

  /** A hash of the next bytes, which are not skipped. */
  hash(length: number): number {
    const from = this.#at
    const end = this.skip(length) + length
    this.#at = from
    let hash = length
    let at = from
    for (; at + 4 <= end; at += 4) hash = Math.imul(hash ^ this.#view.getInt32(at), HASH_FACTOR)
    for (; at < end; at += 1) hash = Math.imul(hash ^ (this.#buffer[at] as number), HASH_FACTOR)
    return hash ^ (hash >>> 15)
  }

  /** Whether the next bytes are these; then they are skipped. */
  skipIfSame({ bytes, view }: Memory): boolean {
    const { length } = bytes
    const from = this.#at
    if (length > this.#end - from) return false
    let at = 0
    for (; at + 4 <= length; at += 4) {
      if (view.getInt32(at) !== this.#view.getInt32(from + at)) return false
    }
    for (; at < length; at += 1) if (bytes[at] !== this.#buffer[from + at]) return false
    this.#at = from + length
    return true
  }

  /** The bytes of a chunk, without copying them. */
  chunk(): Buffer {
    return this.bytes(this.number())
  }

  bytes(length: number): Buffer {
    const from = this.skip(length)
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
  skip(count: number): number {
    const from = this.#at
    if (!(count >= 0) || count > this.#end - from) throw new RangeError(TOO_SHORT)
    this.#at = from + count
    return from
  }
}
