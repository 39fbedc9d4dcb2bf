/** What a report is about: the service of its session, and what of its usage is new. */
import type { ServiceRequest } from './charge-request.ts'
import { emptyService } from './segment.ts'
import type { ServiceSession, Session } from './session.ts'

/** The service of a session that a request means; an empty one if the session has none. */
export function serviceOf(session: Session, wanted: ServiceRequest): ServiceSession {
  const isSame = ({ ratingGroup, usaget }: ServiceSession) =>
    ratingGroup === wanted.ratingGroup && usaget === wanted.usaget
  return (
    session.services.find(isSame) ??
    emptyService(wanted.ratingGroup, wanted.usaget, wanted.calledNumber)
  )
}

/** Units since the last report; negative if a total is below what was reported. */
export function newlyUsed(wanted: ServiceRequest, kept: ServiceSession): number {
  return wanted.isTotal ? wanted.used - kept.usedTotal : wanted.used
}
