/**
 * Finds the records of a file of charging data records: values of BER (X.690) one after the other,
 * or the file format of TS 32.297. Where a record ends depends on the bytes only, never on how they
 * are split into chunks. Holds at most one record.
 */
import { RECORD_BYTES_MAX, TOO_LONG } from './framing.ts'

/** `plain`: nothing but records and filler bytes. */
export const BER_FORMATS = ['plain', 'ts32297'] as const
export type BerFormat = (typeof BER_FORMATS)[number]

/** Levels of nested values in a record. */
export const BER_DEPTH_MAX = 32
export const TOO_DEEP = `is nested deeper than ${BER_DEPTH_MAX} levels`

/** Size of a file as its header states it (TS 32.297 clause 6.1.1); null if it is unknown. */
export interface BerFileHeader {
  bytes: number | null
  records: number | null
}

export interface BerFrame {
  /** `rest`: nothing behind this place can be read. */
  type: 'header' | 'record' | 'rest'
  /** The record, cut if it is too long. */
  bytes: Buffer
  /** Bytes of the file before it, and before what follows it. */
  from: number
  end: number
  /** Why it is no record; empty if it may be one. */
  why: string
  header: BerFileHeader | null
}

type Found = Pick<BerFrame, 'type' | 'bytes' | 'why'> & {
  /** Filler bytes and headers before it. */
  before: number
  size: number
  header?: BerFileHeader
}

const NOTHING = Buffer.alloc(0)
/** Bytes of a record that is too long which are kept for its report. */
const EXCERPT_BYTES = 256
/** Bytes that gateways write between records and up to the end of a block. */
const FILLERS = [0x00, 0xff]

export class BerFramer {
  readonly #format: BerFormat
  #pending: Buffer = NOTHING
  /** Bytes of the file before the pending ones. */
  #offset: number
  /** The record that is too long, and how many bytes of it are to come. */
  #long: { frame: BerFrame; left: number } | null = null
  #rest: Pick<BerFrame, 'from' | 'why'> | null = null
  #isFilling = false

  constructor(format: BerFormat, offset: number) {
    this.#format = format
    this.#offset = offset
  }

  /** Bytes of the file that have been read and are in no record to come. */
  get offset(): number {
    return this.#offset
  }

  /** All frames that end in the chunk; with `isLast`, what is left as well. */
  push(chunk: Buffer, isLast: boolean): BerFrame[] {
    const frames: BerFrame[] = []
    let bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    bytes = this.#skipped(bytes, isLast, frames)
    while (bytes.length > 0 && this.#rest === null && this.#long === null) {
      bytes = this.#withoutFillers(bytes, isLast)
      const found = bytes.length === 0 ? null : this.#next(bytes, isLast)
      if (found === null) break
      bytes = this.#skipped(this.#taken(bytes, found, frames), isLast, frames)
    }
    if (this.#rest !== null) {
      this.#offset += bytes.length
      bytes = NOTHING
      const { from, why } = this.#rest
      const rest = { type: 'rest' as const, bytes: NOTHING, header: null }
      if (isLast) frames.push({ ...rest, from, end: this.#offset, why })
    }
    // A copy: the caller may reuse the chunk.
    this.#pending = Buffer.from(bytes)
    return frames
  }

  /** Adds the frame, and returns the bytes behind it. */
  #taken(bytes: Buffer, found: Found, frames: BerFrame[]): Buffer {
    const { type, before, size, why, header = null } = found
    const from = this.#offset + before
    if (type === 'rest') {
      this.#rest = { from, why }
      return bytes
    }
    const whole = before + size
    const frame = { type, from, end: this.#offset + whole, why, header }
    const taken = Math.min(whole, bytes.length)
    this.#offset += taken
    if (why === TOO_LONG) {
      const excerpt = Buffer.from(found.bytes.subarray(0, EXCERPT_BYTES))
      this.#long = { frame: { ...frame, bytes: excerpt }, left: whole - taken }
    } else frames.push({ ...frame, bytes: found.bytes })
    return bytes.subarray(taken)
  }

  /** The bytes behind a record that is too long. */
  #skipped(bytes: Buffer, isLast: boolean, frames: BerFrame[]): Buffer {
    if (this.#long === null) return bytes
    const taken = Math.min(this.#long.left, bytes.length)
    this.#offset += taken
    this.#long.left -= taken
    const { frame, left } = this.#long
    if (left > 0 && !isLast) return bytes.subarray(taken)
    this.#long = null
    if (left === 0) frames.push({ ...frame, end: this.#offset })
    else {
      // Its length may be wrong: what was skipped may be other records.
      const size = this.#offset - frame.from
      this.#rest = { from: frame.from, why: cutOffReason(size, size + left) }
    }
    return bytes.subarray(taken)
  }

  #withoutFillers(bytes: Buffer, isLast: boolean): Buffer {
    let at = 0
    if (this.#format === 'plain') {
      while (at < bytes.length && FILLERS.includes(bytes[at] as number)) at += 1
    } else if (this.#offset > 0) at = this.#fillersOf(bytes, isLast)
    this.#offset += at
    return bytes.subarray(at)
  }

  /** The length of a record (TS 32.297) may begin with a zero, but is neither 0 nor 65,535. */
  #fillersOf(bytes: Buffer, isLast: boolean): number {
    let at = 0
    for (; at < bytes.length; at += 1) {
      const first = bytes[at] as number
      const isOfRun = this.#isFilling && first === 0xff
      const isAlone = isLast && at + 1 === bytes.length
      const isLength = FILLERS.includes(first) && (bytes[at + 1] === first || isAlone)
      this.#isFilling = isOfRun || (isLength && first === 0xff)
      if (!isOfRun && !isLength) break
    }
    return at
  }

  #next(bytes: Buffer, isLast: boolean): Found | null {
    if (this.#format === 'plain') return nextValue(bytes, isLast)
    return this.#offset === 0 ? fileHeader(bytes, isLast) : nextRecord(bytes, isLast)
  }
}

const unreadable = (why: string): Found => ({
  ...{ type: 'rest', bytes: NOTHING, before: 0, size: 0, why },
})

function cutOffReason(bytes: number, size: number | null): string {
  return `is cut off${size === null ? '' : `: ${bytes} of ${size} bytes`}`
}

function cutOff(bytes: Buffer, size: number | null): Found {
  const why = cutOffReason(bytes.length, size)
  return { type: 'record', bytes, before: 0, size: bytes.length, why }
}

/** The value at the beginning of the bytes; null if it does not end in them. */
function nextValue(bytes: Buffer, isLast: boolean): Found | null {
  const head = valueHead(bytes, 0)
  if (typeof head === 'string') return unreadable(head)
  if (head === null) return isLast ? cutOff(bytes, null) : null
  if (!head.isConstructed) return unreadable('is no constructed value')
  const size = head.length < 0 ? openEnd(bytes, head.end) : head.end + head.length
  if (typeof size === 'string') return unreadable(size)
  if (size > RECORD_BYTES_MAX) {
    // Without its length there is no way to the next record.
    if (head.length < 0) return unreadable(TOO_LONG)
    return { type: 'record', bytes, before: 0, size, why: TOO_LONG }
  }
  if (size > 0 && size <= bytes.length) {
    return { type: 'record', bytes: bytes.subarray(0, size), before: 0, size, why: '' }
  }
  return isLast ? cutOff(bytes, size > 0 ? size : null) : null
}

interface ValueHead {
  isConstructed: boolean
  /** Behind identifier and length. */
  end: number
  /** -1 if the end is marked. */
  length: number
}

const TAG_BYTES_MAX = 4
const LENGTH_BYTES_MAX = 4

/** Null if it does not end in the bytes; a text says what is wrong (X.690 clause 8.1). */
function valueHead(bytes: Buffer, from: number): ValueHead | string | null {
  const first = bytes[from]
  if (first === undefined) return null
  let at = from + 1
  if ((first & 0x1f) === 0x1f) {
    while (((bytes[at] ?? 0) & 0x80) !== 0 && at - from <= TAG_BYTES_MAX) at += 1
    if (at - from > TAG_BYTES_MAX) return `has a tag of more than ${TAG_BYTES_MAX} bytes`
    at += 1
  }
  const given = bytes[at]
  if (given === undefined) return null
  at += 1
  const isConstructed = (first & 0x20) !== 0
  if (given < 0x80) return { isConstructed, end: at, length: given }
  if (given === 0x80) {
    return isConstructed
      ? { isConstructed, end: at, length: -1 }
      : 'has a primitive value of indefinite length'
  }
  const count = given & 0x7f
  if (count > LENGTH_BYTES_MAX) return `has a length of more than ${LENGTH_BYTES_MAX} bytes`
  if (at + count > bytes.length) return null
  return { isConstructed, end: at + count, length: bytes.readUIntBE(at, count) }
}

/** Behind the end mark of a value of unknown length; 0 if it is not in the bytes. */
function openEnd(bytes: Buffer, from: number): number | string {
  let depth = 1
  let at = from
  while (at < bytes.length && at <= RECORD_BYTES_MAX) {
    if (bytes[at] === 0) {
      if (at + 1 === bytes.length) return 0
      if (bytes[at + 1] !== 0) return 'has end-of-contents octets with a length'
      at += 2
      depth -= 1
      if (depth === 0) return at
    } else {
      const head = valueHead(bytes, at)
      if (typeof head === 'string') return head
      if (head === null) return 0
      at = head.end + Math.max(0, head.length)
      if (head.length < 0) depth += 1
      if (depth > BER_DEPTH_MAX) return TOO_DEEP
    }
  }
  return at > RECORD_BYTES_MAX ? TOO_LONG : 0
}

const UNKNOWN = 0xffff_ffff
/** Up to the indicator of lost records; filters and extensions follow. */
const FILE_HEADER_BYTES_MIN = 48

function fileHeader(bytes: Buffer, isLast: boolean): Found | null {
  const size = bytes.length < 8 ? FILE_HEADER_BYTES_MIN : bytes.readUInt32BE(4)
  if (size < FILE_HEADER_BYTES_MIN || size > RECORD_BYTES_MAX) {
    return unreadable(`is not a file header of TS 32.297: its length is ${size}`)
  }
  if (bytes.length < size) return isLast ? unreadable('is a file header that is cut off') : null
  const stated = (at: number) => {
    const value = bytes.readUInt32BE(at)
    return value === UNKNOWN ? null : value
  }
  const header = { bytes: stated(0), records: stated(18) }
  return { type: 'header', bytes: NOTHING, before: 0, size, why: '', header }
}

/** The value of the release that says that another byte has it. */
const EXTENDED_RELEASE = 7
const BER = 1

/** The record at the beginning of the bytes with its header (TS 32.297 clause 6.1.2). */
function nextRecord(bytes: Buffer, isLast: boolean): Found | null {
  const [, , release = 0, format = 0] = bytes
  const head = release >> 5 === EXTENDED_RELEASE ? 5 : 4
  if (bytes.length < head) return isLast ? cutOff(bytes, null) : null
  const length = bytes.readUInt16BE(0)
  const content = bytes.subarray(head, head + length)
  if (content.length < length) {
    return isLast ? { ...cutOff(content, length), before: head } : null
  }
  const why = format >> 5 === BER ? '' : `is of data record format ${format >> 5}, not of BER (1)`
  return { type: 'record', bytes: content, before: head, size: length, why }
}
