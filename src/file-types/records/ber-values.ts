/** Contents of primitive values as text and numbers (TS 32.298, TS 29.002). */
import { isUtf8 } from 'node:buffer'

export const BER_TYPES = [
  ...['address', 'boolean', 'hex', 'integer', 'isdn', 'null', 'number', 'sms', 'tbcd', 'text'],
  'time',
] as const
export type BerType = keyof typeof READERS

type Read = (bytes: Buffer) => unknown

/** In place of a value that is not of its type. No number, date or subscriber looks like it. */
export function notOfType(bytes: Buffer): string {
  return `0x${bytes.toString('hex')}`
}

const READERS = {
  address: ipAddress,
  boolean: (bytes: Buffer) => (bytes.length === 1 ? bytes[0] !== 0 : notOfType(bytes)),
  hex: (bytes: Buffer) => bytes.toString('hex'),
  integer: integerOf,
  /** AddressString and ISDN-AddressString (TS 29.002): a byte with the type of number before it. */
  isdn: (bytes: Buffer) => numberOf(bytes, 1),
  null: () => true,
  /** BCDDirectoryNumber: as in TS 24.008, with octet 3a if bit 8 of the octet before it is 0. */
  number: (bytes: Buffer) => numberOf(bytes, ((bytes[0] ?? 0) & 0x80) === 0 ? 2 : 1),
  sms: smsAddress,
  tbcd: (bytes: Buffer) => digitsOf(bytes) ?? notOfType(bytes),
  text: (bytes: Buffer) => (isUtf8(bytes) ? bytes.toString('utf8') : notOfType(bytes)),
  time: timeStamp,
} satisfies Record<string, Read>

export function decodedAs(type: BerType, bytes: Buffer): unknown {
  return READERS[type](bytes)
}

const INTEGER_BYTES_MAX = 16

/** A number, or its digits if it is not exact as one. */
function integerOf(bytes: Buffer): number | string {
  if (bytes.length === 0 || bytes.length > INTEGER_BYTES_MAX) return notOfType(bytes)
  if (bytes.length <= 6) return bytes.readIntBE(0, bytes.length)
  const value = BigInt.asIntN(8 * bytes.length, BigInt(`0x${bytes.toString('hex')}`))
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

const DIGITS = '0123456789*#abc'

/** TBCD-STRING: lower halves of bytes first, up to a filler; null if it is something else. */
function digitsOf(bytes: Buffer): string | null {
  let digits = ''
  for (const [index, byte] of bytes.entries()) {
    const high = byte >> 4
    const low = DIGITS[byte & 0x0f]
    const isEnd = high === 0x0f && index === bytes.length - 1
    if (low === undefined || (high === 0x0f && !isEnd)) return null
    digits += low + (isEnd ? '' : DIGITS[high])
  }
  return digits
}

const INTERNATIONAL = 1
const typeOfNumber = (bytes: Buffer) => ((bytes[0] ?? 0) >> 4) & 0x07

/** With `+` if it is international. */
function numberOf(bytes: Buffer, headBytes: number): string {
  const digits = bytes.length < headBytes ? null : digitsOf(bytes.subarray(headBytes))
  if (digits === null) return notOfType(bytes)
  return typeOfNumber(bytes) === INTERNATIONAL ? `+${digits}` : digits
}

const ALPHANUMERIC = 5

/** An address field of TS 23.040: the number of digits, then as `isdn`. */
function smsAddress(bytes: Buffer): string {
  const address = bytes.subarray(1)
  const isWhole = Math.ceil((bytes[0] ?? 0) / 2) === address.length - 1
  if (!isWhole || typeOfNumber(address) === ALPHANUMERIC) return notOfType(bytes)
  return numberOf(address, 1)
}

const TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(2b|2d)(\d\d)(\d\d)$/

/** TimeStamp as ISO 8601 with its offset. */
function timeStamp(bytes: Buffer): string {
  const parts = TIME.exec(bytes.toString('hex'))
  if (parts === null) return notOfType(bytes)
  const [, year, month, day, hour, minute, second, sign, hours, minutes] = parts
  const offset = `${sign === '2b' ? '+' : '-'}${hours}:${minutes}`
  return `20${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`
}

const IP_TEXT = /^[0-9A-Fa-f:.]{3,45}$/

/** IPBinaryAddress or IPTextRepresentedAddress; IPv6 as in RFC 5952. */
function ipAddress(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length === 16) {
    const groups = bytes.toString('hex').match(/.{4}/g) as string[]
    return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
  }
  const text = bytes.toString('latin1')
  return IP_TEXT.test(text) ? text : notOfType(bytes)
}
