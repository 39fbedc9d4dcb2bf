/** Answers that say what is wrong with a request, of any command (RFC 6733 section 7.2). */

import { ruleOf } from './avp-rules.ts'
import { around, exampleOf } from './failed-avp.ts'
import { avp, textAvp, uint32Avp, type WireAvp, writeMessage } from './message.ts'
import { application, avpCode, command, flags, isProtocolError } from './protocol.ts'
import { type RequestTrace, traceOf } from './trace.ts'
import type { WireIdentity } from './wire-codec.ts'

export interface BaseError {
  readonly resultCode: number
  /** Told as Error-Message; empty: none. */
  readonly message: string
  /** What Failed-AVP holds; null: there is none. */
  readonly failed: WireAvp | null
}

/**
 * Answers the request in `bytes`, which has a header of 20 at least, whatever its command and
 * however broken the rest of it.
 */
export function errorAnswer(
  bytes: Buffer,
  identity: WireIdentity,
  resultCode: number,
  message: string,
  failed: WireAvp | null = null,
): Buffer {
  return baseAnswer(traceOf(bytes), identity, { resultCode, message, failed })
}

export function baseAnswer(
  { header, sessionId, requestType, requestNumber, proxies }: RequestTrace,
  { originHost, originRealm }: WireIdentity,
  { resultCode, message, failed }: BaseError,
): Buffer {
  const isCreditControl =
    header.command === command.creditControl && header.application === application.creditControl
  const avps: (WireAvp | null)[] = [
    sessionId,
    uint32Avp(avpCode.resultCode, resultCode),
    textAvp(avpCode.originHost, originHost),
    textAvp(avpCode.originRealm, originRealm),
    isCreditControl ? uint32Avp(avpCode.authApplicationId, application.creditControl) : null,
    isCreditControl ? requestType : null,
    isCreditControl ? requestNumber : null,
    message === '' ? null : avp(avpCode.errorMessage, Buffer.from(message, 'utf8'), 0, false),
    failed === null ? null : around(FAILED, failed),
    ...proxies,
  ]
  return writeMessage({
    ...header,
    flags: (header.flags & flags.proxiable) | (isProtocolError(resultCode) ? flags.error : 0),
    avps: avps.filter((one) => one !== null),
  })
}

const FAILED = avp(avpCode.failedAvp, Buffer.alloc(0))

/** An example of an AVP that a request lacks. */
export function missingAvp(code: number, vendor = 0): WireAvp {
  const rule = ruleOf(code, vendor)
  return rule === undefined ? avp(code, Buffer.alloc(0), vendor) : exampleOf(rule)
}
