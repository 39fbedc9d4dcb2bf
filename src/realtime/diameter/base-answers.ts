/** Answers of the base protocol: what every request gets that never reaches credit control. */
import {
  avp,
  groupAvp,
  readAvps,
  readHeader,
  textAvp,
  uint32Avp,
  type WireAvp,
  WireError,
  writeMessage,
} from '../codecs/diameter-wire/message.ts'
import { avpCode, flags, HEADER_BYTES, isProtocolError } from '../codecs/diameter-wire/protocol.ts'
import type { WireIdentity } from '../codecs/diameter-wire/wire-codec.ts'

/** What is wrong with a request. */
export interface Problem {
  readonly resultCode: number
  /** Of the AVP at fault: for Failed-AVP. */
  readonly failed?: WireAvp
  /** For Error-Message and logs. */
  readonly why: string
}

/**
 * An answer without anything but who gives it: the ids of the request, its P bit, its Session-Id
 * and its Proxy-Info (RFC 6733 sections 6.2 and 7.2). `request` may be a header alone.
 */
export function baseAnswer(
  request: Buffer,
  code: number,
  identity: WireIdentity,
  further: readonly WireAvp[] = [],
): Buffer {
  const header = readHeader(request)
  const errorBit = isProtocolError(code) ? flags.error : 0
  const { sessionIds, proxyInfos } = echoed(request)
  return writeMessage({
    ...header,
    flags: (header.flags & flags.proxiable) | errorBit,
    avps: [
      ...sessionIds,
      uint32Avp(avpCode.resultCode, code),
      textAvp(avpCode.originHost, identity.originHost),
      textAvp(avpCode.originRealm, identity.originRealm),
      ...further,
      ...proxyInfos,
    ],
  })
}

/** The answer to a request that has a problem. */
export function problemAnswer(request: Buffer, problem: Problem, identity: WireIdentity): Buffer {
  return baseAnswer(request, problem.resultCode, identity, problemAvps(problem))
}

/** Error-Message, which is never mandatory, and Failed-AVP. */
export function problemAvps({ why, failed }: Problem): WireAvp[] {
  const message = avp(avpCode.errorMessage, Buffer.from(why, 'utf8'), 0, false)
  return failed === undefined ? [message] : [message, groupAvp(avpCode.failedAvp, [failed])]
}

function echoed(request: Buffer): { sessionIds: WireAvp[]; proxyInfos: WireAvp[] } {
  const avps = readable(request.subarray(HEADER_BYTES))
  const all = (code: number) => avps.filter((one) => one.vendor === 0 && one.code === code)
  return {
    sessionIds: all(avpCode.sessionId).slice(0, 1),
    proxyInfos: all(avpCode.proxyInfo),
  }
}

/** Nothing of a body that is no list of AVPs. */
function readable(body: Buffer): readonly WireAvp[] {
  try {
    return readAvps(body)
  } catch (error) {
    if (error instanceof WireError) return []
    throw error
  }
}
