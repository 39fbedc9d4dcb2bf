/** Encodes host addresses. */
import type { AvpRule } from './avp-rules.ts'

/** Lower codes of these vendors are RADIUS attributes, whose addresses have no family. */
const RADIUS_CODES = 256
const RADIUS_3GPP_CODES = 30
const IPV4 = [0, 1]
const IPV6 = [0, 2]

/** Encodes an address for its AVP (RFC 6733 section 4.3.1); null if the text is not an address. */
export function addressBytes({ code, vendor }: AvpRule, text: string): Buffer | null {
  const isPlain = code < (vendor === 0 ? RADIUS_CODES : RADIUS_3GPP_CODES)
  const isV6 = text.includes(':')
  const bytes = isV6 ? ipv6Bytes(text) : ipv4Bytes(text)
  if (bytes === null || isPlain) return bytes === null ? null : Buffer.from(bytes)
  return Buffer.from([...(isV6 ? IPV6 : IPV4), ...bytes])
}

function ipv4Bytes(text: string): number[] | null {
  const parts = text.split('.')
  const isValid = parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part))
  const bytes = parts.map(Number)
  return isValid && bytes.every((byte) => byte <= 255) ? bytes : null
}

/** Expands `::` to zeros. */
function ipv6Bytes(text: string): number[] | null {
  const [head = '', tail, more] = text.split('::')
  const front = bytesOf(head)
  const back = bytesOf(tail ?? '')
  if (front === null || back === null || more !== undefined) return null
  const missing = 16 - front.length - back.length
  if (tail === undefined ? missing !== 0 : missing < 2) return null
  return [...front, ...Array<number>(missing).fill(0), ...back]
}

/** Bytes of hexadecimal groups separated by colons; the last may be an IPv4 address. */
function bytesOf(text: string): number[] | null {
  if (text === '') return []
  const bytes: number[] = []
  const parts = text.split(':')
  for (const [at, part] of parts.entries()) {
    const isNumber = /^[0-9a-fA-F]{1,4}$/.test(part)
    const number = Number.parseInt(part, 16)
    const last = at === parts.length - 1 ? ipv4Bytes(part) : null
    if (!isNumber && last === null) return null
    bytes.push(...(last ?? [number >> 8, number & 0xff]))
  }
  return bytes
}
