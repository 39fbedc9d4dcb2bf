/** What must hold for the AVPs of CER, DWR and DPR (RFC 6733 sections 4.1, 5 and 7). */
import { avp, readAvps, type WireAvp, WireError } from '../codecs/diameter-wire/message.ts'
import { avpCode, avpFlags, HEADER_BYTES, resultCode } from '../codecs/diameter-wire/protocol.ts'
import type { Problem } from './base-answers.ts'

/** An AVP that a message must have, and how long one without content is. */
export interface Required {
  readonly code: number
  readonly name: string
  /** Of a Failed-AVP that stands for it, filled with zeros (section 7.5). */
  readonly zeroBytes: number
}

export const ORIGIN_HOST: Required = {
  code: avpCode.originHost,
  name: 'Origin-Host',
  zeroBytes: 1,
}
export const ORIGIN_REALM: Required = {
  code: avpCode.originRealm,
  name: 'Origin-Realm',
  zeroBytes: 1,
}
export const HOST_IP_ADDRESS: Required = {
  code: avpCode.hostIpAddress,
  name: 'Host-IP-Address',
  zeroBytes: 6,
}
export const VENDOR_ID: Required = { code: avpCode.vendorId, name: 'Vendor-Id', zeroBytes: 4 }
export const PRODUCT_NAME: Required = {
  code: avpCode.productName,
  name: 'Product-Name',
  zeroBytes: 1,
}
export const DISCONNECT_CAUSE: Required = {
  code: avpCode.disconnectCause,
  name: 'Disconnect-Cause',
  zeroBytes: 4,
}

/** At most once; Host-IP-Address and what tells of applications may be repeated. */
const SINGLE: ReadonlySet<number> = new Set([
  avpCode.originHost,
  avpCode.originRealm,
  avpCode.vendorId,
  avpCode.productName,
  avpCode.originStateId,
  avpCode.firmwareRevision,
  avpCode.disconnectCause,
])

/** Of vendor 0 outside of the block of the base protocol: those that it shares with RADIUS. */
const SHARED_WITH_RADIUS: ReadonlySet<number> = new Set([1, 25, 27, 33, 44, 50, 55, 85, 480, 483])
const BASE_CODES = { first: 257, last: 299 } as const

/** The AVPs of a request between peers, or what is wrong with them. */
export function checkedAvps(
  bytes: Buffer,
  required: readonly Required[],
): { avps: readonly WireAvp[]; problem: null } | { problem: Problem } {
  const body = bytes.subarray(HEADER_BYTES)
  try {
    const avps = readAvps(body)
    const problem = unknownIn(avps) ?? missingIn(avps, required) ?? repeatedIn(avps)
    return problem === null ? { avps, problem } : { problem }
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    return { problem: invalidLength(body, error.message) }
  }
}

function unknownIn(avps: readonly WireAvp[]): Problem | null {
  const failed = avps.find((one) => (one.flags & avpFlags.mandatory) !== 0 && !isKnown(one))
  if (failed === undefined) return null
  const why = `AVP ${failed.code} of vendor ${failed.vendor} is mandatory, but not known here`
  return { resultCode: resultCode.avpUnsupported, failed, why }
}

function isKnown({ code, vendor }: WireAvp): boolean {
  const isBase = code >= BASE_CODES.first && code <= BASE_CODES.last
  return vendor === 0 && (isBase || SHARED_WITH_RADIUS.has(code))
}

function missingIn(avps: readonly WireAvp[], required: readonly Required[]): Problem | null {
  const missing = required.find(({ code }) => !avps.some((one) => isOf(one, code)))
  if (missing === undefined) return null
  const failed = avp(missing.code, Buffer.alloc(missing.zeroBytes))
  return { resultCode: resultCode.missingAvp, failed, why: `${missing.name} is missing` }
}

function repeatedIn(avps: readonly WireAvp[]): Problem | null {
  const failed = avps.find((one, index) => {
    const isSingle = one.vendor === 0 && SINGLE.has(one.code)
    return isSingle && avps.findIndex((first) => isOf(first, one.code)) < index
  })
  if (failed === undefined) return null
  const why = `AVP ${failed.code} may be there once`
  return { resultCode: resultCode.avpOccursTooManyTimes, failed, why }
}

function isOf(one: WireAvp, code: number): boolean {
  return one.vendor === 0 && one.code === code
}

/** The AVP whose length is wrong, without its data, which cannot be told (section 7.1.5). */
function invalidLength(body: Buffer, why: string): Problem {
  let at = 0
  while (at + 8 <= body.length) {
    const length = body.readUIntBE(at + 5, 3)
    const hasVendor = ((body[at + 4] as number) & avpFlags.vendor) !== 0
    if (length < (hasVendor ? 12 : 8) || at + length > body.length) {
      const vendor = hasVendor && at + 12 <= body.length ? body.readUInt32BE(at + 8) : 0
      const bits = (body[at + 4] as number) & ~(vendor === 0 ? avpFlags.vendor : 0)
      const failed = { code: body.readUInt32BE(at), vendor, flags: bits, data: Buffer.alloc(0) }
      return { resultCode: resultCode.invalidAvpLength, failed, why }
    }
    at += (length + 3) & ~3
  }
  return { resultCode: resultCode.invalidAvpLength, why }
}
