/**
 * Splits a file into records at line breaks, except at those within quotes (RFC 4180). Where a
 * record ends depends on the bytes only, never on how they are split into chunks. The package that
 * reads imports (csv-parse) does not go on behind a quote that is not closed.
 */

/** Longest record without its line end, in bytes. */
export const RECORD_BYTES_MAX = 65_536
export const TOO_LONG = `is longer than ${RECORD_BYTES_MAX} bytes`
const UNCLOSED = `has a quote that is not closed within ${RECORD_BYTES_MAX} bytes`
/** Bytes of a line that is too long which are kept for its report. */
const EXCERPT_BYTES = 256

const LF = 10
const CR = 13

/** The bytes that separate and quote values. */
export interface Quoting {
  separator: number
  quote: number
}

export interface Frame {
  /** Without the line end. */
  bytes: Buffer
  /** With the line end. */
  size: number
  /** Line breaks. */
  lines: number
  /** Why it is no record; empty if it may be one. */
  why: string
}

export class Framer {
  readonly #quoting: Quoting | null
  #pending: Buffer = Buffer.alloc(0)
  /** The line that is too long, so far: its first bytes, and the number of all. */
  #long: { excerpt: Buffer; size: number } | null = null

  constructor(quoting: Quoting | null) {
    this.#quoting = quoting
  }

  /** All frames that end in the chunk; with `isLast`, the rest as well. */
  push(chunk: Buffer, isLast: boolean): Frame[] {
    const frames: Frame[] = []
    let bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    // A line that is too long may have ended with the bytes before.
    while (bytes.length > 0 || (isLast && this.#long !== null)) {
      const frame = this.#long === null ? this.#next(bytes, isLast) : this.#skip(bytes, isLast)
      if (frame === null) break
      frames.push(frame)
      bytes = bytes.subarray(frame.consumed)
    }
    if (this.#long !== null) bytes = Buffer.alloc(0)
    // A copy: the caller may reuse the chunk.
    this.#pending = Buffer.from(bytes)
    return frames
  }

  #next(bytes: Buffer, isLast: boolean): (Frame & { consumed: number }) | null {
    const end = endOf(bytes, this.#quoting, isLast)
    const length = end < 0 ? bytes.length : end
    if (length <= RECORD_BYTES_MAX) {
      if (end >= 0) return framed(bytes, end, '')
      if (!isLast) return null
    }
    // Goes on with the next line, so that a single stray quote spoils one record only.
    const lineEnd = bytes.indexOf(LF)
    const line = lineEnd < 0 ? bytes.length : lineEnd
    if (line <= RECORD_BYTES_MAX) return framed(bytes, line, UNCLOSED)
    this.#long = { excerpt: Buffer.from(bytes.subarray(0, EXCERPT_BYTES)), size: 0 }
    return this.#skip(bytes, isLast)
  }

  /** The line that is too long, if its end is in the bytes. */
  #skip(bytes: Buffer, isLast: boolean): (Frame & { consumed: number }) | null {
    const long = this.#long as { excerpt: Buffer; size: number }
    const end = bytes.indexOf(LF)
    if (end < 0) {
      long.size += bytes.length
      if (!isLast) return null
    }
    this.#long = null
    const consumed = end < 0 ? bytes.length : end + 1
    const size = end < 0 ? long.size : long.size + consumed
    return { bytes: long.excerpt, size, lines: end < 0 ? 0 : 1, why: TOO_LONG, consumed }
  }
}

function framed(bytes: Buffer, end: number, why: string) {
  const consumed = Math.min(end + 1, bytes.length)
  const text = bytes.subarray(0, bytes[end - 1] === CR ? end - 1 : end)
  let lines = consumed > end ? 1 : 0
  for (let at = text.indexOf(LF); at >= 0; at = text.indexOf(LF, at + 1)) lines += 1
  return { bytes: text, size: consumed, lines, why, consumed }
}

/**
 * Index of the line break that ends the first record, or the number of bytes if it ends with them;
 * -1 if it does not end in them.
 */
function endOf(bytes: Buffer, quoting: Quoting | null, isLast: boolean): number {
  const lineEnd = bytes.indexOf(LF)
  const line = lineEnd < 0 ? bytes.length : lineEnd
  const end = lineEnd < 0 && !isLast ? -1 : line
  if (quoting === null || !bytes.subarray(0, line).includes(quoting.quote)) return end
  let at = 0
  while (at < bytes.length) {
    if (bytes[at] === quoting.quote) {
      at = closingQuote(bytes, at + 1, quoting.quote)
      if (at < 0) return -1
    }
    while (at < bytes.length && bytes[at] !== quoting.separator && bytes[at] !== LF) at += 1
    if (bytes[at] === LF) return at
    // Behind the separator.
    at += 1
  }
  return isLast ? bytes.length : -1
}

/** Index behind the closing quote; -1 without one. Two quotes are one of the value. */
function closingQuote(bytes: Buffer, from: number, quote: number): number {
  let at = bytes.indexOf(quote, from)
  while (at >= 0 && bytes[at + 1] === quote) at = bytes.indexOf(quote, at + 2)
  return at < 0 ? -1 : at + 1
}
