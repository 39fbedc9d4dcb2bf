/** Validation of the AVPs of CER, DWR and DPR (RFC 6733 sections 4.1, 5 and 7). */
import { type AvpRule, kinds, ruleOf } from '../codecs/diameter-wire/avp-rules.ts'
import type { ProtocolError } from '../codecs/diameter-wire/base-answer.ts'
import { exampleAt, missingAvp } from '../codecs/diameter-wire/failed-avp.ts'
import {
  DiameterWireError,
  padded,
  readAvps,
  type WireAvp,
} from '../codecs/diameter-wire/message.ts'
import { avpCode, avpFlags, HEADER_BYTES, resultCode } from '../codecs/diameter-wire/protocol.ts'

/** AVPs that occur at most once; Host-IP-Address and the application AVPs may be repeated. */
const SINGLE: ReadonlySet<number> = new Set([
  avpCode.originHost,
  avpCode.originRealm,
  avpCode.vendorId,
  avpCode.productName,
  avpCode.originStateId,
  avpCode.firmwareRevision,
  avpCode.disconnectCause,
])

/** The AVPs of a request between peers with the required codes, or what is wrong with them. */
export function checkedAvps(
  bytes: Buffer,
  required: readonly number[],
): { avps: readonly WireAvp[]; problem: null } | { problem: ProtocolError } {
  const body = bytes.subarray(HEADER_BYTES)
  try {
    const avps = readAvps(body)
    const problem = unknownIn(avps) ?? sizeIn(avps) ?? missingIn(avps, required) ?? repeatedIn(avps)
    return problem === null ? { avps, problem } : { problem }
  } catch (error) {
    if (!(error instanceof DiameterWireError)) throw error
    return { problem: invalidLength(body, error.message) }
  }
}

function unknownIn(avps: readonly WireAvp[]): ProtocolError | null {
  const failed = avps.find(
    ({ code, vendor, flags }) =>
      (flags & avpFlags.mandatory) !== 0 && ruleOf(code, vendor) === undefined,
  )
  if (failed === undefined) return null
  const why = `AVP ${failed.code} of vendor ${failed.vendor} is mandatory but not supported`
  return { resultCode: resultCode.avpUnsupported, failed, why }
}

function sizeIn(avps: readonly WireAvp[]): ProtocolError | null {
  for (const { code, vendor, data } of avps) {
    const rule = ruleOf(code, vendor)
    if (rule === undefined || isSized(rule, data)) continue
    const why = `${rule.name} cannot have ${data.length} bytes`
    return { resultCode: resultCode.invalidAvpLength, failed: missingAvp(code, vendor), why }
  }
  return null
}

function isSized({ kind, size }: AvpRule, { length }: Buffer): boolean {
  // An address has at least its family.
  return kind === kinds.address ? length >= 2 : size < 0 || length === size
}

function missingIn(avps: readonly WireAvp[], required: readonly number[]): ProtocolError | null {
  const missing = required.find((code) => !avps.some((one) => isOf(one, code)))
  if (missing === undefined) return null
  const why = `${ruleOf(missing, 0)?.name} is missing`
  return { resultCode: resultCode.missingAvp, failed: missingAvp(missing), why }
}

function repeatedIn(avps: readonly WireAvp[]): ProtocolError | null {
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

/** The AVP with the invalid length, without its data, whose end is unknown (section 7.1.5). */
function invalidLength(body: Buffer, why: string): ProtocolError {
  const end = body.length
  let at = 0
  while (at + 8 <= end) {
    const length = body.readUIntBE(at + 5, 3)
    const hasVendor = ((body[at + 4] as number) & avpFlags.vendor) !== 0
    if (length < (hasVendor ? 12 : 8) || at + length > end) {
      return { resultCode: resultCode.invalidAvpLength, failed: exampleAt(body, at, end), why }
    }
    at += padded(length)
  }
  return { resultCode: resultCode.invalidAvpLength, why }
}
