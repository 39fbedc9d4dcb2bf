/**
 * Converts messages to records by AVP name and back, for tools and tests. A single AVP is its
 * value, a repeated one a list.
 */
import { isUtf8 } from 'node:buffer'
import { isIPv4, isIPv6 } from 'node:net'
import { type Avp, avpByCode, avpByKey } from '../codecs/diameter/dictionary.ts'
import {
  avp as avpOf,
  DiameterWireError,
  groupAvp,
  readAvps,
  type WireAvp,
} from '../codecs/diameter-wire/message.ts'
import { avpFlags, NTP_UNIX_SECONDS } from '../codecs/diameter-wire/protocol.ts'

export type NamedValue = string | number | NamedAvps | readonly NamedValue[]
export interface NamedAvps {
  readonly [name: string]: NamedValue
}

const HEX = /^0x([0-9a-f]{2})*$/i
const CONTROL = /\p{Cc}/u
/** Address families (RFC 6733 section 4.3.1). */
const IPV4 = 1
const IPV6 = 2

/** Never throws: data that does not fit its type is represented as bytes, `0x…`. */
export function namedAvps(avps: readonly WireAvp[]): NamedAvps {
  const named: Record<string, NamedValue> = Object.create(null)
  for (const each of avps) {
    const known = avpByCode(each.code, each.vendor)
    const key =
      known?.name ?? (each.vendor === 0 ? String(each.code) : `${each.vendor}:${each.code}`)
    const value = valueIn(each, known)
    const earlier = named[key]
    if (earlier === undefined) named[key] = value
    else named[key] = Array.isArray(earlier) ? [...earlier, value] : [earlier, value]
  }
  return named
}

function valueIn({ data }: WireAvp, known: Avp | undefined): NamedValue {
  switch (known?.type) {
    case 'Grouped':
      return groupOf(data)
    case 'Unsigned32':
      return data.length === 4 ? data.readUInt32BE(0) : hex(data)
    case 'Integer32':
      return data.length === 4 ? data.readInt32BE(0) : hex(data)
    case 'Unsigned64':
      return data.length === 8 ? long(data.readBigUInt64BE(0)) : hex(data)
    case 'Integer64':
      return data.length === 8 ? long(data.readBigInt64BE(0)) : hex(data)
    case 'Time':
      return data.length === 4 ? timeText(data.readUInt32BE(0)) : hex(data)
    case 'IPAddress':
      return addressText(data) ?? hex(data)
    default: {
      if (!isUtf8(data)) return hex(data)
      const text = data.toString('utf8')
      return CONTROL.test(text) || HEX.test(text) ? hex(data) : text
    }
  }
}

function groupOf(data: Buffer): NamedValue {
  try {
    return namedAvps(readAvps(data))
  } catch (error) {
    if (error instanceof DiameterWireError) return hex(data)
    throw error
  }
}

function hex(data: Buffer): string {
  return `0x${data.toString('hex')}`
}

function long(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

function timeText(seconds: number): string {
  // NTP seconds overflow in February 2036.
  const era = seconds < 2 ** 31 ? 2 ** 32 : 0
  return new Date((seconds + era - NTP_UNIX_SECONDS) * 1000).toISOString()
}

function addressText(data: Buffer): string | undefined {
  const family = data.length < 2 ? 0 : data.readUInt16BE(0)
  if (family === IPV4 && data.length === 6) return [...data.subarray(2)].join('.')
  if (family !== IPV6 || data.length !== 18) return undefined
  const parts = Array.from({ length: 8 }, (_, index) => data.readUInt16BE(2 + index * 2))
  return new URL(`http://[${parts.map((part) => part.toString(16)).join(':')}]/`).hostname.slice(
    1,
    -1,
  )
}

/**
 * AVPs by name or code (`263`, `10415:872`); `0x…` denotes bytes. Throws `DiameterWireError`, which
 * names the AVP, if it is unknown or its value does not fit the type.
 */
export function wireAvps(named: NamedAvps, path = ''): WireAvp[] {
  return Object.entries(named).flatMap(([name, value]) => {
    const known = avpByKey(name)
    const here = `${path}${name}`
    if (known === undefined) throw new DiameterWireError(`${here} is not a known AVP`)
    const values: readonly NamedValue[] = isList(value) ? value : [value]
    return values.map((one) => wireAvp(known, one, here))
  })
}

function isList(value: NamedValue): value is readonly NamedValue[] {
  return Array.isArray(value)
}

function wireAvp(known: Avp, value: NamedValue, path: string): WireAvp {
  const { code, vendor, isMandatory } = known
  if (typeof value === 'string' && HEX.test(value)) {
    return avpOf(code, Buffer.from(value.slice(2), 'hex'), vendor, isMandatory)
  }
  if (known.type === 'Grouped') {
    if (typeof value !== 'object' || value === null || isList(value)) {
      throw new DiameterWireError(`${path} must have AVPs`)
    }
    const group = groupAvp(code, wireAvps(value, `${path}.`), vendor)
    return isMandatory ? group : { ...group, flags: group.flags & ~avpFlags.mandatory }
  }
  const data = dataOf(known, value)
  if (data !== undefined) return avpOf(code, data, vendor, isMandatory)
  throw new DiameterWireError(`${path} cannot be ${JSON.stringify(value)}: it is ${known.type}`)
}

/** Undefined if the value does not fit the type. */
function dataOf({ type, values }: Avp, value: NamedValue): Buffer | undefined {
  const known = typeof value === 'string' ? (values?.get(value) ?? value) : value
  if (typeof known !== 'string' && typeof known !== 'number') return undefined
  switch (type) {
    case 'Unsigned32':
      return integer(known, 4, (data, number) => data.writeUInt32BE(Number(number)))
    case 'Integer32':
      return integer(known, 4, (data, number) => data.writeInt32BE(Number(number)))
    case 'Unsigned64':
      return integer(known, 8, (data, number) => data.writeBigUInt64BE(number))
    case 'Integer64':
      return integer(known, 8, (data, number) => data.writeBigInt64BE(number))
    case 'Time':
      return timeData(known)
    case 'IPAddress':
      return addressData(String(known))
    default:
      return Buffer.from(String(known), 'utf8')
  }
}

function integer(
  value: string | number,
  bytes: number,
  write: (data: Buffer, number: bigint) => void,
): Buffer | undefined {
  if (!/^-?\d{1,20}$/.test(String(value))) return undefined
  const data = Buffer.alloc(bytes)
  try {
    write(data, BigInt(value))
  } catch {
    return undefined
  }
  return data
}

/** ISO 8601, or seconds since 1970. */
function timeData(value: string | number): Buffer | undefined {
  const seconds = typeof value === 'number' ? value : Math.floor(Date.parse(value) / 1000)
  if (!Number.isInteger(seconds)) return undefined
  const data = Buffer.alloc(4)
  data.writeUInt32BE((((seconds + NTP_UNIX_SECONDS) % 2 ** 32) + 2 ** 32) % 2 ** 32)
  return data
}

function addressData(text: string): Buffer | undefined {
  if (isIPv4(text)) return Buffer.from([0, IPV4, ...text.split('.').map(Number)])
  if (!isIPv6(text)) return undefined
  const full = new URL(`http://[${text}]/`).hostname.slice(1, -1)
  const [head = '', tail = ''] = full.split('::')
  const parts = (side: string) => (side === '' ? [] : side.split(':'))
  const zeros = Array.from({ length: 8 - parts(head).length - parts(tail).length }, () => '0')
  const data = Buffer.alloc(18)
  data.writeUInt16BE(IPV6, 0)
  const all = full.includes('::') ? [...parts(head), ...zeros, ...parts(tail)] : parts(head)
  for (const [index, part] of all.entries())
    data.writeUInt16BE(Number.parseInt(part, 16), 2 + index * 2)
  return data
}
