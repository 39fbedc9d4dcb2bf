/** Recognises retransmissions: session and request number identify a request. */
import type { ChargeOutcome, Reason } from './charge-outcome.ts'
import {
  type ChargeRequest,
  isAmountRefund,
  opensSession,
  type ServiceRequest,
} from './charge-request.ts'
import type { AnsweredRequest, Session } from './session.ts'
import { newlyUsed, serviceOf } from './session-services.ts'

/** Number of answers stored for a session whose requests have no number. */
export const ANSWERS_KEPT_UNNUMBERED = 8

/** `openedMs` of usage records, so that the stamps of their lines do not depend on the time. */
export const RECORD_OPENED_MS = 0

/**
 * How long a usage record keeps its outcome, unless that of all requests is kept for less: there
 * may be millions. Until then the recorder has written its line, or the intake waits (src/intake).
 */
export const RECORD_REPLAY_MS = 60_000

/** The stored outcome of the same request, or null. */
export function findAnswer(
  session: Session,
  request: ChargeRequest,
  digest: number,
): ChargeOutcome | null {
  for (const answered of session.answered) {
    if (answered.requestNumber === request.requestNumber && answered.digest === digest) {
      return answered.outcome
    }
  }
  return null
}

/** Why a new request is not allowed in the state of its session, or null if it is. */
export function sequenceErrorOf(
  session: Session | null,
  request: ChargeRequest,
): { reason: Reason; detail: string } | null {
  const isOpening = opensSession(request.kind)
  if (session === null) {
    const mayBegin = isOpening && (!request.refund || isAmountRefund(request))
    return mayBegin ? null : { reason: 'unknownSession', detail: '' }
  }
  if (request.requestNumber >= 0 && session.lastNumber >= 0) {
    if (request.requestNumber === session.lastNumber) return { reason: 'numberReused', detail: '' }
    if (request.requestNumber < session.lastNumber) {
      return { reason: 'outOfOrder', detail: `request_num ${session.lastNumber} was answered` }
    }
  }
  if (request.refund) return refundErrorOf(session)
  if (session.state === 'open') {
    return isOpening ? { reason: 'outOfOrder', detail: 'the session is open already' } : null
  }
  if (isOpening && session.state === 'denied') return null
  if (session.state !== 'expired') return { reason: 'sessionClosed', detail: '' }
  // Usage is settled even after expiry; for further units the client has to open a new session.
  const isNew = (service: ServiceRequest) => newlyUsed(service, serviceOf(session, service)) > 0
  const isLateReport = !isOpening && request.services.some(isNew)
  return isLateReport ? null : { reason: 'sessionClosed', detail: 'it expired' }
}

/** The answer to a refund of an event that another subscriber paid. */
export const FOREIGN_EVENT = { reason: 'unknownSession', detail: '' } as const

/** Only a closed event with a refundable segment can be refunded. */
function refundErrorOf({ state, services }: Session): { reason: Reason; detail: string } | null {
  // A closed session stores no services; an event stores them for refunds.
  if (state !== 'closed' || services.length === 0) {
    return { reason: 'sessionClosed', detail: 'it was not an event' }
  }
  const isRefundable = services.some(({ segment }) => segment !== null)
  return isRefundable ? null : { reason: 'nothingToRefund', detail: '' }
}

/** The answers to store after one more. */
export function addAnswer(
  answered: readonly AnsweredRequest[],
  next: AnsweredRequest,
): AnsweredRequest[] {
  if (next.requestNumber >= 0 || answered.length === 0) return [next]
  return [next, ...answered.slice(0, ANSWERS_KEPT_UNNUMBERED - 1)]
}
