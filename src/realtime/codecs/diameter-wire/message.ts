/**
 * Diameter messages as lists of AVPs, for uses that are not performance-critical: messages between
 * peers, requests of the node, tools and tests. Unknown AVPs are preserved (RFC 6733 sections 3,
 * 4).
 */
import { avpFlags, HEADER_BYTES, NTP_UNIX_SECONDS, VERSION } from './protocol.ts'

export interface Header {
  /** Bits of `flags`. */
  flags: number
  command: number
  application: number
  hopByHopId: number
  endToEndId: number
}

export interface WireAvp {
  code: number
  /** 0 for the IETF. */
  vendor: number
  /** Bits of `avpFlags`. */
  flags: number
  /** The data, without padding. */
  data: Buffer
}

export interface WireMessage extends Header {
  avps: readonly WireAvp[]
}

/** Thrown if bytes are not a valid message or AVP list. */
export class DiameterWireError extends Error {
  override name = 'WireError'
}

/** Decodes a complete message. Its data are views of `bytes`. Throws `DiameterWireError`. */
export function readMessage(bytes: Buffer): WireMessage {
  if (bytes.length < HEADER_BYTES) throw new DiameterWireError('a message has 20 bytes at least')
  if (bytes[0] !== VERSION) throw new DiameterWireError(`version ${bytes[0]} is not supported`)
  const length = bytes.readUIntBE(1, 3)
  if (length !== bytes.length)
    throw new DiameterWireError(`length ${length} is not ${bytes.length}`)
  return { ...readHeader(bytes), avps: readAvps(bytes.subarray(HEADER_BYTES)) }
}

/** `bytes` must contain the 20 bytes of the header. */
export function readHeader(bytes: Buffer): Header {
  return {
    flags: bytes[4] as number,
    command: bytes.readUIntBE(5, 3),
    application: bytes.readUInt32BE(8),
    hopByHopId: bytes.readUInt32BE(12),
    endToEndId: bytes.readUInt32BE(16),
  }
}

/** Decodes the AVPs of a message body or a group. Throws `DiameterWireError`. */
export function readAvps(bytes: Buffer): WireAvp[] {
  const avps: WireAvp[] = []
  let at = 0
  while (at < bytes.length) {
    if (bytes.length - at < 8)
      throw new DiameterWireError(`${bytes.length - at} bytes are not an AVP`)
    const code = bytes.readUInt32BE(at)
    const flags = bytes[at + 4] as number
    const length = bytes.readUIntBE(at + 5, 3)
    const hasVendor = (flags & avpFlags.vendor) !== 0
    const headBytes = hasVendor ? 12 : 8
    if (length < headBytes || at + length > bytes.length) {
      throw new DiameterWireError(`AVP ${code} has a length of ${length}`)
    }
    const vendor = hasVendor ? bytes.readUInt32BE(at + 8) : 0
    avps.push({ code, vendor, flags, data: bytes.subarray(at + headBytes, at + length) })
    at += padded(length)
  }
  return avps
}

export function writeMessage({ avps, ...header }: WireMessage): Buffer {
  const length = HEADER_BYTES + avps.reduce((sum, avp) => sum + padded(lengthOf(avp)), 0)
  const bytes = Buffer.alloc(length)
  bytes[0] = VERSION
  bytes.writeUIntBE(length, 1, 3)
  bytes[4] = header.flags
  bytes.writeUIntBE(header.command, 5, 3)
  bytes.writeUInt32BE(header.application, 8)
  bytes.writeUInt32BE(header.hopByHopId, 12)
  bytes.writeUInt32BE(header.endToEndId, 16)
  writeAvps(bytes, HEADER_BYTES, avps)
  return bytes
}

function writeAvps(bytes: Buffer, start: number, avps: readonly WireAvp[]): void {
  let at = start
  for (const avp of avps) {
    const { code, vendor, flags, data } = avp
    const hasVendor = (flags & avpFlags.vendor) !== 0
    bytes.writeUInt32BE(code, at)
    bytes[at + 4] = flags
    bytes.writeUIntBE(lengthOf(avp), at + 5, 3)
    if (hasVendor) bytes.writeUInt32BE(vendor, at + 8)
    data.copy(bytes, at + (hasVendor ? 12 : 8))
    at += padded(lengthOf(avp))
  }
}

function lengthOf({ flags, data }: WireAvp): number {
  return data.length + ((flags & avpFlags.vendor) !== 0 ? 12 : 8)
}

/** AVPs are aligned to four bytes. */
export function padded(length: number): number {
  return (length + 3) & ~3
}

/** An AVP with the usual flags: mandatory, and the vendor bit if it has a vendor. */
export function avp(code: number, data: Buffer, vendor = 0, mandatory = true): WireAvp {
  const vendorBit = vendor === 0 ? 0 : avpFlags.vendor
  return { code, vendor, flags: vendorBit | (mandatory ? avpFlags.mandatory : 0), data }
}

export function textAvp(code: number, value: string, vendor = 0): WireAvp {
  return avp(code, Buffer.from(value, 'utf8'), vendor)
}

/** Unsigned32 and Enumerated. */
export function uint32Avp(code: number, value: number, vendor = 0): WireAvp {
  const data = Buffer.alloc(4)
  data.writeUInt32BE(value >>> 0)
  return avp(code, data, vendor)
}

export function uint64Avp(code: number, value: number | bigint, vendor = 0): WireAvp {
  const data = Buffer.alloc(8)
  data.writeBigUInt64BE(BigInt(value))
  return avp(code, data, vendor)
}

/** Time (RFC 6733 section 4.3.1) from epoch ms. */
export function timeAvp(code: number, epochMs: number, vendor = 0): WireAvp {
  return uint32Avp(code, (Math.floor(epochMs / 1000) + NTP_UNIX_SECONDS) % 2 ** 32, vendor)
}

export function groupAvp(code: number, avps: readonly WireAvp[], vendor = 0): WireAvp {
  const data = Buffer.alloc(avps.reduce((sum, one) => sum + padded(lengthOf(one)), 0))
  writeAvps(data, 0, avps)
  return avp(code, data, vendor)
}

/** The first AVP with a code. */
export function find(avps: readonly WireAvp[], code: number, vendor = 0): WireAvp | undefined {
  return avps.find((one) => one.code === code && one.vendor === vendor)
}

/** Text of the first AVP with a code; undefined if absent. */
export function textOf(avps: readonly WireAvp[], code: number, vendor = 0): string | undefined {
  return find(avps, code, vendor)?.data.toString('utf8')
}

/** Unsigned32 of the first AVP with a code; undefined if absent or of another length. */
export function uint32Of(avps: readonly WireAvp[], code: number, vendor = 0): number | undefined {
  const data = find(avps, code, vendor)?.data
  return data?.length === 4 ? data.readUInt32BE(0) : undefined
}
