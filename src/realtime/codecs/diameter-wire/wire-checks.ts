/** Required AVPs of a credit-control request and their values (RFC 8506 section 3.1). */
import { requiredCodes } from '../diameter/dictionary.ts'
import { ruleOf } from './avp-rules.ts'
import { uint24At, uint32At } from './bytes.ts'
import { copyOf, missingAvp } from './failed-avp.ts'
import { application, avpCode, resultCode } from './protocol.ts'
import { readText } from './read-values.ts'
import type { AvpProblem } from './wire-problem.ts'
import { bitOnce, type WireReader } from './wire-reader.ts'

const REQUIRED = requiredCodes.map((code) => ({ code, bit: bitOnce(code) }))
const REQUIRED_BITS = REQUIRED.reduce((bits, { bit }) => bits | bit, 0)

const SESSION_ID_CHARS_MAX = 256
/** INITIAL_REQUEST to EVENT_REQUEST. */
const TYPE_MAX = 4
const EVENT = 4
/** DIRECT_DEBITING to PRICE_ENQUIRY. */
const ACTION_MAX = 3

/** Identifiers that answers repeat. */
export interface RequestIds {
  sessionId: string
  requestType: number
  /** -1 for an event without a number. */
  requestNumber: number
}

/** The identifiers of a request that was read without a problem, or what is wrong with them. */
export function checkRequest(bytes: Buffer, reader: WireReader): RequestIds | AvpProblem {
  if ((reader.seen & REQUIRED_BITS) !== REQUIRED_BITS) return missingOf(reader.seen)
  const { sessionIdAt, authApplicationAt, requestTypeAt, requestNumberAt, requestedActionAt } =
    reader
  const sessionId = readText(
    bytes,
    sessionIdAt + headOf(bytes, sessionIdAt),
    endOf(bytes, sessionIdAt),
  )
  if (sessionId === null) {
    return invalid(bytes, sessionIdAt, 'must be UTF-8 without control characters')
  }
  if (sessionId.length > SESSION_ID_CHARS_MAX || sessionId === '') {
    return invalid(bytes, sessionIdAt, `must have 1 to ${SESSION_ID_CHARS_MAX} characters`)
  }
  if (numberAt(bytes, authApplicationAt) !== application.creditControl) {
    return invalid(bytes, authApplicationAt, `must be ${application.creditControl}`)
  }
  const requestType = numberAt(bytes, requestTypeAt)
  if (requestType < 1 || requestType > TYPE_MAX) {
    return invalid(bytes, requestTypeAt, `must be from 1 to ${TYPE_MAX}`)
  }
  if (requestNumberAt < 0 && requestType !== EVENT) return missing(avpCode.ccRequestNumber)
  if (requestType === EVENT) {
    // A debit must not be assumed without Requested-Action (RFC 8506 section 6).
    if (requestedActionAt < 0) return missing(avpCode.requestedAction)
    if (numberAt(bytes, requestedActionAt) > ACTION_MAX) {
      return invalid(bytes, requestedActionAt, `must be from 0 to ${ACTION_MAX}`)
    }
  }
  const requestNumber = requestNumberAt < 0 ? -1 : numberAt(bytes, requestNumberAt)
  return { sessionId, requestType, requestNumber }
}

function missingOf(seen: number): AvpProblem {
  const [first] = REQUIRED.filter(({ bit }) => (seen & bit) === 0)
  return missing(first?.code ?? 0)
}

function missing(code: number): AvpProblem {
  return {
    field: nameOf(code),
    why: 'is required',
    resultCode: resultCode.missingAvp,
    failed: missingAvp(code),
  }
}

function invalid(bytes: Buffer, at: number, why: string): AvpProblem {
  return {
    field: nameOf(uint32At(bytes, at)),
    why,
    resultCode: resultCode.invalidAvpValue,
    failed: copyOf(bytes, at),
  }
}

function nameOf(code: number): string {
  return ruleOf(code, 0)?.name ?? String(code)
}

/** The last four bytes of an AVP whose data is four bytes long. */
function numberAt(bytes: Buffer, at: number): number {
  return uint32At(bytes, endOf(bytes, at) - 4)
}

function headOf(bytes: Buffer, at: number): number {
  return (bytes[at + 4] as number) >= 0x80 ? 12 : 8
}

function endOf(bytes: Buffer, at: number): number {
  return at + uint24At(bytes, at + 5)
}
