/**
 * Answers that depend on the request only: those of the base protocol, and errors of any command.
 */
import { wrapInGroup } from './failed-avp.ts'
import { avp, textAvp, uint32Avp, type WireAvp, writeMessage } from './message.ts'
import {
  application,
  avpCode,
  command,
  flags,
  HEADER_BYTES,
  isProtocolError,
  type WireIdentity,
} from './protocol.ts'
import { type RequestTrace, traceOf } from './trace.ts'

/** Error of a request. */
export interface ProtocolError {
  readonly resultCode: number
  /** The AVP at fault, for Failed-AVP; null or undefined if absent. */
  readonly failed?: WireAvp | null
  /** Reason for Error-Message and logs. */
  readonly why: string
}

/**
 * A minimal answer: identity of the node, `further` AVPs, and from the request its identifiers, P
 * bit, Session-Id and Proxy-Info (RFC 6733 sections 6.2 and 7.2); for a credit-control request also
 * the AVPs of RFC 8506 section 3.2. `request` may consist of the header only.
 */
export function baseAnswer(
  request: Buffer,
  code: number,
  identity: WireIdentity,
  further: readonly WireAvp[] = [],
): Buffer {
  return tracedAnswer(traceOf(request), code, identity, further)
}

export function problemAnswer(
  request: Buffer,
  problem: ProtocolError,
  identity: WireIdentity,
): Buffer {
  return baseAnswer(request, problem.resultCode, identity, problemAvps(problem))
}

/** `baseAnswer` from the trace of a request. */
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

/** A complete Failed-AVP that contains the given AVP. */
export function failedAvpBytes(failed: WireAvp): Buffer {
  const header = { flags: 0, command: 0, application: 0, hopByHopId: 0, endToEndId: 0 }
  return writeMessage({ ...header, avps: [wrapInGroup(FAILED, failed)] }).subarray(HEADER_BYTES)
}
