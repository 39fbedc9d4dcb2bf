/** Answers that need the request alone: of the base protocol, and of errors in any command. */
import { wrapInGroup } from './failed-avp.ts'
import { avp, textAvp, uint32Avp, type WireAvp, writeMessage } from './message.ts'
import { application, avpCode, command, flags, HEADER_BYTES, isProtocolError } from './protocol.ts'
import { type RequestTrace, traceOf } from './trace.ts'
import type { WireIdentity } from './wire-codec.ts'

/** What is wrong with a request. */
export interface ProtocolError {
  readonly resultCode: number
  /** The AVP at fault: for Failed-AVP. Null or left out: none is. */
  readonly failed?: WireAvp | null
  /** For Error-Message and logs. */
  readonly why: string
}

/**
 * An answer without anything but who gives it and `further`: the ids of the request, its P bit, its
 * Session-Id and its Proxy-Info (RFC 6733 sections 6.2 and 7.2), of a credit-control request also
 * what its answers must have (RFC 8506 section 3.2). `request` may be a header alone.
 */
export function baseAnswer(
  request: Buffer,
  code: number,
  identity: WireIdentity,
  further: readonly WireAvp[] = [],
): Buffer {
  return tracedAnswer(traceOf(request), code, identity, further)
}

/** The answer to a request that has a problem. */
export function problemAnswer(
  request: Buffer,
  problem: ProtocolError,
  identity: WireIdentity,
): Buffer {
  return baseAnswer(request, problem.resultCode, identity, problemAvps(problem))
}

/** `baseAnswer` to a request of which only that is left. */
export function tracedAnswer(
  { header, sessionId, requestType, requestNumber, proxies }: RequestTrace,
  code: number,
  { originHost, originRealm }: WireIdentity,
  further: readonly WireAvp[],
): Buffer {
  const isCreditControl =
    header.command === command.creditControl && header.application === application.creditControl
  const ofCreditControl = [
    uint32Avp(avpCode.authApplicationId, application.creditControl),
    requestType,
    requestNumber,
  ]
  const avps: (WireAvp | null)[] = [
    sessionId,
    uint32Avp(avpCode.resultCode, code),
    textAvp(avpCode.originHost, originHost),
    textAvp(avpCode.originRealm, originRealm),
    ...(isCreditControl ? ofCreditControl : []),
    ...further,
    ...proxies,
  ]
  return writeMessage({
    ...header,
    flags: (header.flags & flags.proxiable) | (isProtocolError(code) ? flags.error : 0),
    avps: avps.filter((one) => one !== null),
  })
}

const FAILED = avp(avpCode.failedAvp, Buffer.alloc(0))

/** Error-Message, which is never mandatory, and Failed-AVP. */
export function problemAvps({ why, failed }: Omit<ProtocolError, 'resultCode'>): WireAvp[] {
  const message = avp(avpCode.errorMessage, Buffer.from(why, 'utf8'), 0, false)
  return failed == null ? [message] : [message, wrapInGroup(FAILED, failed)]
}

/** A whole Failed-AVP with this in it. */
export function failedAvpBytes(failed: WireAvp): Buffer {
  const header = { flags: 0, command: 0, application: 0, hopByHopId: 0, endToEndId: 0 }
  return writeMessage({ ...header, avps: [wrapInGroup(FAILED, failed)] }).subarray(HEADER_BYTES)
}
