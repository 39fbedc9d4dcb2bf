/**
 * A growing buffer for packed script arguments (sending one is far cheaper than many) and for the
 * stored values. Stored values contain numbers of one to nine bytes:
 *
 *   00–bf  the number itself           c0–df  13 bits, the low ones in the next byte
 *   e0–ef  20 bits in three bytes      f3–f7  value - f0 bytes follow, little endian
 *   f8     negative: -1 minus the number that follows
 *   f9     an f64, for all others      fa, fb UNLIMITED and FOREVER_MS, which are frequent
 */
import { UNLIMITED } from '../domain/pricing/tier.ts'
import { codeAt, lengthOf } from '../domain/text-codes.ts'
import { FOREVER_MS } from '../domain/time.ts'

export const NUMBER = {
  TWO_BYTES: 0xc0,
  THREE_BYTES: 0xe0,
  BYTES: 0xf0,
  NEGATIVE: 0xf8,
  F64: 0xf9,
  UNLIMITED: 0xfa,
  FOREVER: 0xfb,
} as const

const NUMBER_BYTES_MAX = 10
const [DOLLAR, CARRIAGE_RETURN, LINE_FEED] = [0x24, 0x0d, 0x0a]
/** Digits of a usual length. */
const BULK_DIGITS = 3
const BULK_HEAD_BYTES = 1 + BULK_DIGITS + 2
/** Length and ends of lines. */
const BULK_BYTES_MAX = 20
/** For shorter texts a copy by character is faster than the encoder. */
const SHORT_TEXT_MAX = 64

export class Writer {
  #buffer: Buffer
  #view: DataView
  #length = 0

  constructor(sizeBytes: number) {
    this.#buffer = Buffer.allocUnsafe(sizeBytes)
    this.#view = viewOf(this.#buffer)
  }

  /** Number of written bytes. */
  get length(): number {
    return this.#length
  }

  /** The written bytes; valid until the writer is used again. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Returns a copy of the written bytes and clears the writer. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes())
    this.clear()
    return taken
  }

  clear(): void {
    this.#length = 0
  }

  u8(value: number): void {
    if (this.#length === this.#buffer.length) this.#grow(1)
    this.#buffer[this.#length] = value
    this.#length += 1
  }

  u16(value: number): void {
    this.#ensureRoom(2)
    this.#view.setUint16(this.#length, value, true)
    this.#length += 2
  }

  f64(value: number): void {
    this.#ensureRoom(8)
    this.#view.setFloat64(this.#length, value, true)
    this.#length += 8
  }

  /** Length as u32, then the bytes. */
  block(bytes: Uint8Array): void {
    this.#ensureRoom(4 + bytes.length)
    this.#view.setUint32(this.#length, bytes.length, true)
    this.#buffer.set(bytes, this.#length + 4)
    this.#length += 4 + bytes.length
  }

  /** Length as u32, then the text in UTF-8. */
  text(text: string): void {
    this.#ensureRoom(4 + lengthOf(text) * 3)
    const written = this.#put(text, this.#length + 4)
    this.#view.setUint32(this.#length, written, true)
    this.#length += 4 + written
  }

  /** As `text`, of short ASCII texts that are not concatenated before. */
  texts(first: string, second: string, third = ''): void {
    this.#ensureRoom(4 + lengthOf(first) + lengthOf(second) + lengthOf(third))
    const from = this.#length + 4
    let at = from
    at += this.#put(first, at)
    at += this.#put(second, at)
    if (third !== '') at += this.#put(third, at)
    this.#view.setUint32(this.#length, at - from, true)
    this.#length = at
  }

  /** Reserves a u32 for a length; `closeLength` stores the number of bytes that followed. */
  openLength(): number {
    this.#ensureRoom(4)
    this.#length += 4
    return this.#length
  }

  closeLength(openedAt: number): void {
    this.#view.setUint32(openedAt - 4, this.#length - openedAt, true)
  }

  /** As `texts`, as an argument of a script as it is sent: the length in decimal digits. */
  bulkTexts(first: string, second: string, third = ''): void {
    const size = lengthOf(first) + lengthOf(second) + lengthOf(third)
    this.#ensureRoom(BULK_BYTES_MAX + size)
    this.#length = this.#putBulkHead(size, this.#length)
    this.#length += this.#put(first, this.#length)
    this.#length += this.#put(second, this.#length)
    if (third !== '') this.#length += this.#put(third, this.#length)
    this.#length = this.#putLineEnd(this.#length)
  }

  /** Begins an argument of a script as it is sent, whose length is not known yet. */
  openBulk(): number {
    this.#ensureRoom(BULK_HEAD_BYTES)
    this.#length += BULK_HEAD_BYTES
    return this.#length
  }

  /** Ends it; returns the position of its bytes. */
  closeBulk(openedAt: number): number {
    this.#ensureRoom(BULK_BYTES_MAX)
    const size = this.#length - openedAt
    const from = openedAt + String(size).length - BULK_DIGITS
    if (from !== openedAt) this.#buffer.copyWithin(from, openedAt, this.#length)
    this.#putBulkHead(size, openedAt - BULK_HEAD_BYTES)
    this.#length = this.#putLineEnd(from + size)
    return from
  }

  #putBulkHead(size: number, at: number): number {
    this.#buffer[at] = DOLLAR
    return this.#putLineEnd(at + 1 + this.#put(String(size), at + 1))
  }

  #putLineEnd(at: number): number {
    this.#buffer[at] = CARRIAGE_RETURN
    this.#buffer[at + 1] = LINE_FEED
    return at + 2
  }

  number(value: number): void {
    this.#ensureRoom(NUMBER_BYTES_MAX)
    if (value >>> 0 !== value) {
      this.#wideNumber(value)
      return
    }
    const buffer = this.#buffer
    if (value < NUMBER.TWO_BYTES) {
      buffer[this.#length++] = value
    } else if (value < 0x2000) {
      buffer[this.#length++] = NUMBER.TWO_BYTES | (value >>> 8)
      buffer[this.#length++] = value
    } else if (value < 0x100000) {
      buffer[this.#length++] = NUMBER.THREE_BYTES | (value >>> 16)
      buffer[this.#length++] = value >>> 8
      buffer[this.#length++] = value
    } else {
      const count = value < 0x1000000 ? 3 : 4
      buffer[this.#length] = NUMBER.BYTES | count
      this.#view.setUint32(this.#length + 1, value, true)
      this.#length += 1 + count
    }
  }

  /** An instant relative to another one that the reader knows; both in epoch ms. */
  time(value: number, sinceMs: number): void {
    const passed = value - sinceMs
    const isPassed = Number.isSafeInteger(passed) && sinceMs + passed === value
    if (value === FOREVER_MS) this.u8(NUMBER.FOREVER)
    else if (isPassed && passed !== FOREVER_MS) this.number(passed)
    else this.#plainF64(value)
  }

  /** Length as number, then the text in UTF-8. */
  string(text: string): void {
    const length = lengthOf(text)
    if (length < SHORT_TEXT_MAX) {
      this.#ensureRoom(1 + length)
      if (this.#putAscii(text, length, this.#length + 1)) {
        this.#buffer[this.#length] = length
        this.#length += 1 + length
        return
      }
    }
    this.number(Buffer.byteLength(text))
    this.#ensureRoom(length * 3)
    this.#length += this.#buffer.write(text, this.#length)
  }

  /** Number of bytes, then the bytes. */
  chunk(bytes: Uint8Array): void {
    this.number(bytes.length)
    this.#ensureRoom(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
  }

  #wideNumber(value: number): void {
    const buffer = this.#buffer
    if (value === UNLIMITED) buffer[this.#length++] = NUMBER.UNLIMITED
    else if (value === FOREVER_MS) buffer[this.#length++] = NUMBER.FOREVER
    else if (!Number.isSafeInteger(value)) this.#plainF64(value)
    else if (value < 0) {
      buffer[this.#length++] = NUMBER.NEGATIVE
      this.number(-1 - value)
    } else {
      const low = value >>> 0
      const high = (value - low) / 0x100000000
      const count = high < 0x100 ? 5 : high < 0x10000 ? 6 : 7
      buffer[this.#length] = NUMBER.BYTES | count
      this.#view.setUint32(this.#length + 1, low, true)
      this.#view.setUint32(this.#length + 5, high, true)
      this.#length += 1 + count
    }
  }

  #plainF64(value: number): void {
    this.u8(NUMBER.F64)
    this.f64(value)
  }

  /** The buffer must have room for the text. Returns the number of bytes. */
  #put(text: string, at: number): number {
    const length = lengthOf(text)
    if (length < SHORT_TEXT_MAX && this.#putAscii(text, length, at)) return length
    return this.#buffer.write(text, at)
  }

  /** False if the text is not ASCII; the bytes written so far are then undefined. */
  #putAscii(text: string, length: number, at: number): boolean {
    const buffer = this.#buffer
    for (let index = 0; index < length; index += 1) {
      const code = codeAt(text, index)
      if (code > 0x7f) return false
      buffer[at + index] = code
    }
    return true
  }

  #ensureRoom(sizeBytes: number): void {
    if (this.#length + sizeBytes > this.#buffer.length) this.#grow(sizeBytes)
  }

  #grow(sizeBytes: number): void {
    const needed = this.#length + sizeBytes
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
    this.#view = viewOf(grown)
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
