/** Recognises retransmissions: session and request number identify a request (design.md §2). */
import type { ChargeOutcome, Reason } from './charge-outcome.ts'
import {
  type ChargeRequest,
  isAmountRefund,
  opensSession,
  type ServiceRequest,
} from './charge-request.ts'
import type { AnsweredRequest, Session } from './session.ts'
import { newlyUsed, serviceOf } from './session-services.ts'

/** How many answers are kept for a session whose requests carry no number. */
export const ANSWERS_KEPT_UNNUMBERED = 8

/** The stored outcome of the same request, or null if it was not answered before. */
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

/** Why a request that was not answered before does not fit its session, or null if it fits. */
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
  // What was used is settled even now; whoever only asks for units has to start anew.
  const isNew = (service: ServiceRequest) => newlyUsed(service, serviceOf(session, service)) > 0
  const isLateReport = !isOpening && request.services.some(isNew)
  return isLateReport ? null : { reason: 'sessionClosed', detail: 'it expired' }
}

/** The answer to a refund of an event that another subscriber has paid. */
export const FOREIGN_EVENT = { reason: 'unknownSession', detail: '' } as const

/** Only a closed event that still has something to give back can be refunded. */
function refundErrorOf({ state, services }: Session): { reason: Reason; detail: string } | null {
  // A session that was closed keeps no services; an event keeps them for refunds.
  if (state !== 'closed' || services.length === 0) {
    return { reason: 'sessionClosed', detail: 'it was no event' }
  }
  const isRefundable = services.some(({ segment }) => segment !== null)
  return isRefundable ? null : { reason: 'nothingToRefund', detail: '' }
}

/** The answers to keep after one more. */
export function addAnswer(
  answered: readonly AnsweredRequest[],
  next: AnsweredRequest,
): AnsweredRequest[] {
  if (next.requestNumber >= 0 || answered.length === 0) return [next]
  return [next, ...answered.slice(0, ANSWERS_KEPT_UNNUMBERED - 1)]
}
