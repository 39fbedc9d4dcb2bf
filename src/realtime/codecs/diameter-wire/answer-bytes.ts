/** Writes AVPs sequentially into a buffer that grows as needed and is reused. */
import { codeAt, lengthOf } from '../../../domain/text-codes.ts'
import type { AvpRule } from './avp-rules.ts'
import { putUint24, putUint32 } from './bytes.ts'
import { HEADER_BYTES } from './protocol.ts'

const FIRST_BYTES = 4096
/** From this length on the native writer is faster than a loop. */
const FEW_CHARS = 48

export class AnswerBytes {
  /** Offset of the next AVP. */
  at = HEADER_BYTES
  /** Offset of the value of the message's Result-Code; -1 until written. */
  resultCodeAt = -1
  #bytes: Buffer = Buffer.alloc(FIRST_BYTES)

  /** Begins a message, leaving room for its header. */
  begin(): void {
    this.at = HEADER_BYTES
    this.resultCodeAt = -1
  }

  /** Opens a group, which must be closed; returns its offset. */
  open({ code, vendor, flags }: AvpRule): number {
    const start = this.at
    this.#head(code, vendor, flags, 0, 12)
    return start
  }

  /** Closes the group at `start`, which contains all AVPs written since. */
  close(start: number): void {
    putUint24(this.#bytes, start + 5, this.at - start)
  }

  uint32({ code, vendor, flags }: AvpRule, value: number): void {
    this.#head(code, vendor, flags, 4, 16)
    putUint32(this.#bytes, this.at, value)
    this.at += 4
  }

  /** `high` and `low` are the halves of the 64 bits. */
  uint64({ code, vendor, flags }: AvpRule, high: number, low: number): void {
    this.#head(code, vendor, flags, 8, 20)
    putUint32(this.#bytes, this.at, high)
    putUint32(this.#bytes, this.at + 4, low)
    this.at += 8
  }

  text({ code, vendor, flags }: AvpRule, text: string): void {
    const start = this.at
    // At most three bytes per UTF-16 code unit, twelve for the header, three of padding.
    this.#head(code, vendor, flags, 0, text.length * 3 + 15)
    this.at += this.#put(text)
    this.#finish(start)
  }

  octets({ code, vendor, flags }: AvpRule, data: Buffer): void {
    const start = this.at
    this.#head(code, vendor, flags, 0, data.length + 15)
    data.copy(this.#bytes, this.at)
    this.at += data.length
    this.#finish(start)
  }

  /** Writes complete AVPs unchanged. */
  raw(avps: Buffer): void {
    this.#ensure(avps.length)
    avps.copy(this.#bytes, this.at)
    this.at += avps.length
  }

  numberAt(at: number): number {
    return this.#bytes.readUInt32BE(at)
  }

  /** A copy of the message; the caller fills in its header. */
  end(): Buffer {
    const message = Buffer.allocUnsafe(this.at)
    this.#bytes.copy(message, 0, 0, this.at)
    return message
  }

  #head(code: number, vendor: number, flags: number, size: number, most: number): void {
    this.#ensure(most)
    const bytes = this.#bytes
    const { at } = this
    putUint32(bytes, at, code)
    bytes[at + 4] = flags
    const head = vendor === 0 ? 8 : 12
    putUint24(bytes, at + 5, head + size)
    if (vendor !== 0) putUint32(bytes, at + 8, vendor)
    this.at = at + head
  }

  /** Returns the length of the text in bytes. */
  #put(text: string): number {
    const length = lengthOf(text)
    if (length > FEW_CHARS) return this.#bytes.write(text, this.at, 'utf8')
    const bytes = this.#bytes
    const { at } = this
    for (let index = 0; index < length; index += 1) {
      const code = codeAt(text, index)
      if (code > 0x7f) return bytes.write(text, at, 'utf8')
      bytes[at + index] = code
    }
    return length
  }

  /** Sets the length of the AVP at `start`, and pads to a multiple of four bytes. */
  #finish(start: number): void {
    const bytes = this.#bytes
    putUint24(bytes, start + 5, this.at - start)
    while ((this.at & 3) !== 0) {
      bytes[this.at] = 0
      this.at += 1
    }
  }

  #ensure(more: number): void {
    if (this.at + more <= this.#bytes.length) return
    const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.at + more))
    this.#bytes.copy(larger, 0, 0, this.at)
    this.#bytes = larger
  }
}
