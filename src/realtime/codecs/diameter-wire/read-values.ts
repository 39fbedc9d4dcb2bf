/** Decodes AVP data into message values. */
import { isUtf8 } from 'node:buffer'
import { int32At, uint32At } from './bytes.ts'

const LATIN_CONTROLS = /[\u0080-\u009f]/

/** Text without control characters; null if the bytes are not such a text. */
export function readText(bytes: Buffer, from: number, to: number): string | null {
  let isAscii = true
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] as number
    if (byte < 0x20 || byte === 0x7f) return null
    if (byte > 0x7f) isAscii = false
  }
  if (isAscii) return bytes.toString('latin1', from, to)
  if (!isUtf8(bytes.subarray(from, to))) return null
  const text = bytes.toString('utf8', from, to)
  return LATIN_CONTROLS.test(text) ? null : text
}

/** Text, otherwise lower-case hex. */
export function readOctets(bytes: Buffer, from: number, to: number): string {
  return readText(bytes, from, to) ?? bytes.toString('hex', from, to)
}

const TWO_32 = 2 ** 32
const HIGH_SAFE = 2 ** 21

/** A number, or its digits if a number would not be exact. */
export function readUnsigned64(bytes: Buffer, at: number): number | string {
  const high = uint32At(bytes, at)
  if (high < HIGH_SAFE) return high * TWO_32 + uint32At(bytes, at + 4)
  return String(bytes.readBigUInt64BE(at))
}

export function readInteger64(bytes: Buffer, at: number): number | string {
  const high = int32At(bytes, at)
  if (high < HIGH_SAFE && high >= -HIGH_SAFE) {
    const value = high * TWO_32 + uint32At(bytes, at + 4)
    if (Number.isSafeInteger(value)) return value
  }
  return String(bytes.readBigInt64BE(at))
}

/**
 * Seconds since 1900, continued after the overflow of 2036 (RFC 6733 section 4.3.1). The value is
 * thus never mistaken for seconds since 1970, which the same field may hold in other message
 * formats.
 */
export function readTime(bytes: Buffer, at: number): number {
  const seconds = uint32At(bytes, at)
  return seconds < 2 ** 31 ? seconds + TWO_32 : seconds
}

const IPV4 = 1
const IPV6 = 2

/** An address with its family (RFC 6733 section 4.3.1) or without, as in RADIUS; otherwise hex. */
export function readAddress(bytes: Buffer, from: number, to: number): string {
  const size = to - from
  const family = size < 2 ? 0 : ((bytes[from] as number) << 8) | (bytes[from + 1] as number)
  if (size === 6 && family === IPV4) return ipv4(bytes, from + 2)
  if (size === 18 && family === IPV6) return ipv6(bytes, from + 2)
  if (size === 4) return ipv4(bytes, from)
  if (size === 16) return ipv6(bytes, from)
  // Telephone numbers and the like are text after the family.
  const text = size > 2 ? readText(bytes, from + 2, to) : null
  return text ?? bytes.toString('hex', from, to)
}

function ipv4(bytes: Buffer, at: number): string {
  return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`
}

/** Formats an address by RFC 5952: lower case, the longest run of zeros compressed. */
function ipv6(bytes: Buffer, at: number): string {
  const parts = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(at + index * 2))
  let [start, length] = [-1, 1]
  for (let from = 0; from < 8; from += 1) {
    let end = from
    while (end < 8 && parts[end] === 0) end += 1
    if (end - from > length) [start, length] = [from, end - from]
  }
  const hex = (some: readonly number[]) => some.map((part) => part.toString(16)).join(':')
  if (start < 0) return hex(parts)
  return `${hex(parts.slice(0, start))}::${hex(parts.slice(start + length))}`
}
